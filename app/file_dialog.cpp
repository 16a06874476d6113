#include "app/file_dialog.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "portable_file_dialogs.h"

namespace attoscope {
namespace {

/// Those that the library knows.
constexpr std::array programs{"zenity", "matedialog", "qarma", "kdialog"};

/// Looks along PATH, which takes microseconds; the library starts a shell for each.
bool has_program() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    for (const char* program : programs)
      if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

/// What the dialog said, unless it was closed because nobody wants to know any more.
template <class Dialog>
bool answered(Dialog& dialog, const std::function<bool()>& cancelled) {
  while (!dialog.ready())
    if (cancelled()) return dialog.kill(), false;
  return true;
}

FileDialog::Answer run(const FileDialog::Question& q, const std::function<bool()>& cancelled) {
  if (!pfd::settings::available()) throw std::runtime_error("The desktop's file dialog (zenity or kdialog) does not start; the path can be typed.");
  const std::vector<std::string> filters{"Sessions", "*.json", "All files", "*"};
  FileDialog::Answer answer{q.purpose, ""};
  if (q.purpose == FileDialog::Purpose::save_session) {
    pfd::save_file dialog("Save the session", q.start, filters, pfd::opt::force_overwrite);  // what is there is kept aside
    if (answered(dialog, cancelled)) answer.file = dialog.result();
  } else {
    pfd::open_file dialog("Open a session", q.start, filters);
    if (answered(dialog, cancelled))
      if (const std::vector<std::string> files = dialog.result(); !files.empty()) answer.file = files.front();
  }
  return answer;
}

}  // namespace

FileDialog::FileDialog(std::function<void()> answered) : available_(has_program()), worker_(run, std::move(answered)) {}

}  // namespace attoscope
