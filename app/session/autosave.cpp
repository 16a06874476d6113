#include "app/session/autosave.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <stdexcept>

namespace attoscope {
namespace {
namespace fs = std::filesystem;

/// "session.json", "session-2.json", ...
std::string numbered(const std::string& path, int number) {
  const fs::path file(path);
  if (number == 1) return path;
  return file.parent_path() / (file.stem().string() + "-" + std::to_string(number) + file.extension().string());
}

}  // namespace

std::vector<std::string> autosaves(const std::string& path) {
  std::vector<std::pair<fs::file_time_type, std::string>> dated;
  for (int number = 1; number <= Autosave::most; ++number) {
    std::error_code error;
    const std::string file = numbered(path, number);
    const fs::file_time_type written = fs::last_write_time(file, error);
    if (!error) dated.emplace_back(written, file);
  }
  std::ranges::stable_sort(dated, std::ranges::greater{}, &decltype(dated)::value_type::first);
  std::vector<std::string> files;
  for (auto& [written, file] : dated) files.push_back(std::move(file));
  return files;
}

Autosave::Autosave(const std::string& path, bool fresh) {
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  std::vector<std::string> existing = autosaves(path);
  if (!fresh && std::ranges::any_of(existing, [this](const std::string& file) { return take(file); })) return;
  for (int number = 1; number <= most; ++number) {
    const std::string file = numbered(path, number);
    if (std::ranges::find(existing, file) == existing.end() && take(file)) return;
  }
  std::ranges::reverse(existing);
  if (std::ranges::any_of(existing, [this](const std::string& file) { return take(file); })) return;
  throw std::runtime_error(path + ": " + std::to_string(most) + " windows are open, expected fewer");
}

/// True unless another window has this file. Where a folder cannot be written, or its file system knows no locks, every window
/// takes the first.
bool Autosave::take(const std::string& file) {
  Descriptor lock(::open((file + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lock.valid() && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  file_ = file;
  lock_ = std::move(lock);
  return true;
}

}  // namespace attoscope
