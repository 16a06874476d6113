#include "app/window/file_dialog.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "portable_file_dialogs.h"

namespace attoscope {
namespace {

/// Programs supported by the library.
constexpr std::array programs{"zenity", "matedialog", "qarma", "kdialog"};

/// False if ATTOSCOPE_DIALOGS is none. Throws std::runtime_error unless it is none, desktop or unset.
bool dialogs_are_wanted() {
  const char* const value = std::getenv("ATTOSCOPE_DIALOGS");
  const std::string_view asked = value == nullptr || *value == '\0' ? "desktop" : value;
  if (asked != "none" && asked != "desktop")
    throw std::runtime_error("ATTOSCOPE_DIALOGS is '" + std::string(asked) + "': expected none or desktop");
  return asked == "desktop";
}

/// Searches PATH, which takes microseconds; the library starts a shell for each program.
bool has_program() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    for (const char* program : programs)
      if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

/// Waits for the dialog; true if it was answered, false if it was cancelled.
template <class Dialog>
bool answered(Dialog& dialog, const std::function<bool()>& cancelled) {
  while (!dialog.ready())
    if (cancelled()) return dialog.kill(), false;
  return true;
}

/// Texts of a dialog.
struct Words {
  const char *title, *kind, *pattern;
  bool saves = false;
  pfd::opt overwrite = pfd::opt::none;
};
Words words(FileDialog::Purpose purpose) {
  switch (purpose) {
    case FileDialog::Purpose::open_session:
      return {"Open a session", "Sessions", "*.json *.attoscope.zip"};
    case FileDialog::Purpose::save_session:
      return {"Save the session", "Sessions", "*.json", true, pfd::opt::force_overwrite};  // an existing file is backed up
    case FileDialog::Purpose::pack_session:
      return {"Save the session with its tensors", "Packed sessions", "*.attoscope.zip", true};
    case FileDialog::Purpose::locate:
      return {"Locate the missing file", "Tensors", "*.npy *.npz *.safetensors *.pt *.pth *.bin *.gguf"};
    case FileDialog::Purpose::open_checkpoint:
      return {"Open a checkpoint", "Checkpoints", "*.checkpoint"};
    case FileDialog::Purpose::save_checkpoint:
      break;
  }
  return {"Save a checkpoint", "Checkpoints", "*.checkpoint", true};
}

FileDialog::Answer run(const FileDialog::Question& q, const std::function<bool()>& cancelled) {
  if (!pfd::settings::available())
    throw std::runtime_error("The desktop's file dialog (zenity or kdialog) does not start; the path can be typed.");
  const Words w = words(q.purpose);
  const std::vector<std::string> filters{w.kind, w.pattern, "All files", "*"};
  FileDialog::Answer answer{q.purpose, ""};
  if (w.saves) {
    pfd::save_file dialog(w.title, q.start, filters, w.overwrite);
    if (answered(dialog, cancelled)) answer.file = dialog.result();
  } else {
    pfd::open_file dialog(w.title, q.start, filters);
    if (answered(dialog, cancelled))
      if (const std::vector<std::string> files = dialog.result(); !files.empty()) answer.file = files.front();
  }
  return answer;
}

}  // namespace

FileDialog::FileDialog(std::function<void()> answered)
    : available_(dialogs_are_wanted() && has_program()), worker_(run, std::move(answered)) {}

}  // namespace attoscope
