/// The browser's file chooser. What is saved goes into /downloads, from which the page gives it to the browser.
#include "app/window/file_dialog.h"

#include <emscripten.h>

#include <chrono>
#include <mutex>
#include <sstream>
#include <utility>

namespace attoscope {
namespace {

std::mutex chosen_mutex;
std::optional<std::vector<std::string>> chosen;

std::optional<std::vector<std::string>> take_chosen_files() {
  const std::lock_guard lock(chosen_mutex);
  return std::exchange(chosen, std::nullopt);
}

/// The name of what is saved, in /downloads.
std::string download(const FileDialog::Question& q) {
  const std::string name = q.start.substr(q.start.find_last_of('/') + 1);
  return "/downloads/" + (name.empty() ? "attoscope.json" : name);
}

FileDialog::Answer choose(const FileDialog::Question& q, const std::function<bool()>& cancelled) {
  if (q.saves) return {q, {download(q)}};
  take_chosen_files();
  MAIN_THREAD_ASYNC_EM_ASM({ Module.choose($0); }, static_cast<int>(q.use == FileUse::tensors));
  for (;;) {
    if (cancelled()) return {q};
    if (std::optional<std::vector<std::string>> files = take_chosen_files()) return {q, std::move(*files)};
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

FileDialog::FileDialog(std::function<void()> answered) : available_(true), worker_(choose, std::move(answered)) {}

}  // namespace attoscope

/// Takes the paths of the chosen files, one a line; none where the chooser was closed.
extern "C" EMSCRIPTEN_KEEPALIVE void attoscope_chosen(const char* lines) {
  std::vector<std::string> files;
  std::istringstream in(lines);
  for (std::string file; std::getline(in, file);) files.push_back(std::move(file));
  const std::lock_guard lock(attoscope::chosen_mutex);
  attoscope::chosen = std::move(files);
}
