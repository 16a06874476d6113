#include "app/window/file_dialog.h"

#include <emscripten.h>

#include <sstream>
#include <utility>

namespace attoscope::app {
namespace {

FileDialog* open_dialog = nullptr;  ///< the window's

/// Path of a saved file, in /downloads.
std::string download(const FileQuestion& q) {
  const std::string name = q.start.substr(q.start.find_last_of('/') + 1);
  return "/downloads/" + (name.empty() ? "attoscope.json" : name);
}

}  // namespace

FileDialog::FileDialog(std::function<void()> answered) : answered_(std::move(answered)) { open_dialog = this; }
FileDialog::~FileDialog() { open_dialog = nullptr; }

void FileDialog::ask(FileQuestion question) {
  question_ = std::move(question);
  if (question_->saves) return choose({download(*question_)});
  EM_ASM({ Module.choose($0); }, static_cast<int>(question_->use == ui::FileUse::tensors));
}

std::optional<FileAnswer> FileDialog::take() { return std::exchange(answer_, std::nullopt); }

void FileDialog::choose(std::vector<std::string> files) {
  if (!question_) return;
  answer_ = {*std::exchange(question_, std::nullopt), std::move(files)};
  answered_();
}

}  // namespace attoscope::app

/// Takes the paths of the chosen files, one per line; none if the chooser was closed.
extern "C" EMSCRIPTEN_KEEPALIVE void attoscope_chosen(const char* lines) {
  std::vector<std::string> files;
  std::istringstream in(lines);
  for (std::string file; std::getline(in, file);) files.push_back(std::move(file));
  if (attoscope::app::open_dialog != nullptr) attoscope::app::open_dialog->choose(std::move(files));
}
