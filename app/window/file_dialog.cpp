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

namespace attoscope::app {
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
    if (cancelled()) {
      dialog.kill();
      return false;
    }
  return true;
}

/// Texts of a dialog: name of the file in the title; kind and pattern if it is no file of tensors.
struct Words {
  const char *title, *kind = nullptr, *pattern = nullptr;
};
constexpr EnumArray<ui::FileUse, Words> words({{"session", "Sessions", "*.json *.attoscope.zip"},
                                               {"session with its tensors", "Packed sessions", "*.attoscope.zip"},
                                               {"checkpoint", "Checkpoints", "*.checkpoint"},
                                               {"language model", "Models", "*.gguf config.json"},
                                               {"the captured run"},
                                               {"Q, K and V"},
                                               {"your kernel's output"},
                                               {"dO"},
                                               {"dL"},
                                               {"dQ"},
                                               {"dK"},
                                               {"dV"},
                                               {"the missing file"}});

FileAnswer run(const FileQuestion& q, const std::function<bool()>& cancelled, const Publish<FileAnswer>&) {
  if (!pfd::settings::available())
    throw std::runtime_error("The desktop's file dialog (zenity or kdialog) does not start; the path can be typed.");
  const Words& w = words[q.use];
  const std::string title = (q.saves ? "Save the " : w.kind ? "Open a " : "Open ") + std::string(w.title);
  const std::vector<std::string> filters{w.kind ? w.kind : "Tensors", w.kind ? w.pattern : q.patterns, "All files", "*"};
  FileAnswer answer{q};
  if (q.saves) {  // an existing session is backed up
    pfd::save_file dialog(title, q.start, filters, q.use == ui::FileUse::session ? pfd::opt::force_overwrite : pfd::opt::none);
    if (answered(dialog, cancelled))
      if (std::string file = dialog.result(); !file.empty()) answer.files = {std::move(file)};
  } else {
    pfd::open_file dialog(title, q.start, filters, q.use == ui::FileUse::tensors ? pfd::opt::multiselect : pfd::opt::none);
    if (answered(dialog, cancelled)) answer.files = dialog.result();
  }
  return answer;
}

}  // namespace

FileDialog::FileDialog(std::function<void()> answered)
    : available_(dialogs_are_wanted() && has_program()), worker_(run, std::move(answered)) {}

}  // namespace attoscope::app
