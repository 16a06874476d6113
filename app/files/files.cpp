#include "app/files/files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace attoscope {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw std::runtime_error(path + ": " + what + ": " + std::generic_category().message(error));
}

void write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, "cannot be written", errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// The directory entry itself reaches the disk; a file system that cannot do that is no reason to fail.
void sync_directory(const fs::path& directory) {
  const Descriptor d(::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (d.valid()) ::fsync(d.get());
}

/// Where `path` leads: a link is followed, so that its target is replaced and the link stays.
std::string followed(const std::string& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  const fs::path target = fs::weakly_canonical(path, error);
  return error ? path : target.string();
}

/// Between a file's name and the number of the process that writes it.
constexpr std::string_view part_mark = ".part-";

/// Writes `bytes` to a new file beside `path` and returns its name.
std::string write_beside(const std::string& path, std::string_view bytes, Safety safety) {
  for (int attempt = 0;; ++attempt) {
    const std::string temporary = path + std::string(part_mark) + std::to_string(::getpid()) + "-" + std::to_string(attempt);
    const Descriptor d(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!d.valid() && errno == EEXIST && attempt < 100) continue;
    if (!d.valid()) fail(path, "cannot be written", errno);
    try {
      write_all(d.get(), bytes, path);
      if (safety == Safety::machine && ::fsync(d.get()) != 0 && errno != EINVAL) fail(path, "cannot be written", errno);
    } catch (...) {
      ::unlink(temporary.c_str());
      throw;
    }
    return temporary;
  }
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

int Descriptor::release() { return std::exchange(fd_, -1); }

InputFile::InputFile(const std::string& path) : path_(path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) fail(path, "cannot be opened", errno);
  if (!S_ISREG(status.st_mode)) throw std::runtime_error(path + ": cannot be opened: not a regular file");
  descriptor_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor_.valid()) fail(path, "cannot be opened", errno);
  if (::fstat(descriptor_.get(), &status) != 0) fail(path, "cannot be read", errno);
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read_at(std::uint64_t offset, std::span<char> bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(descriptor_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path_, "cannot be read", errno);
    if (n == 0) throw std::runtime_error(path_ + ": ends at byte " + std::to_string(offset) + ", expected more");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

std::string read_file(const std::string& path, std::uint64_t limit) {
  const InputFile file(path);
  if (file.size() > limit) {
    throw std::runtime_error(path + ": has " + std::to_string(file.size()) + " bytes, expected at most " +
                             std::to_string(limit));
  }
  std::string bytes(file.size(), '\0');
  file.read_at(0, bytes);
  return bytes;
}

StagedFiles::~StagedFiles() {
  for (const Staged& f : files_) ::unlink(f.temporary.c_str());
  for (auto d = directories_.rbegin(); d != directories_.rend(); ++d) ::rmdir(d->c_str());  // stays where it holds something
}

void StagedFiles::make_directory(const std::string& path) {
  std::error_code error;
  if (path.empty() || fs::is_directory(path, error)) return;
  make_directory(fs::path(path).parent_path().string());
  if (::mkdir(path.c_str(), 0777) == 0) {
    directories_.push_back(path);
  } else if (errno != EEXIST || !fs::is_directory(path, error)) {
    fail(path, "cannot be made a directory", errno);
  }
}

void StagedFiles::add(const std::string& path, std::string_view bytes) {
  const std::string target = followed(path);
  struct stat status{};
  if (::stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    const Descriptor d(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
    if (!d.valid()) fail(path, "cannot be written", errno);
    return write_all(d.get(), bytes, path);
  }
  files_.push_back({write_beside(target, bytes, safety_), target});
}

void StagedFiles::commit() {
  while (!files_.empty()) {
    const Staged& f = files_.back();
    if (::rename(f.temporary.c_str(), f.path.c_str()) != 0) fail(f.path, "cannot be written", errno);
    if (safety_ == Safety::machine) sync_directory(fs::path(f.path).parent_path());
    files_.pop_back();
  }
  directories_.clear();
}

void write_file(const std::string& path, std::string_view bytes) {
  StagedFiles files;
  files.add(path, bytes);
  files.commit();
}

void write_safely(const std::string& path, std::string_view bytes) {
  StagedFiles files(Safety::machine);
  files.make_directory(fs::path(path).parent_path().string());
  files.add(path, bytes);
  files.commit();
}

void check_place(const std::string& option, const std::string& file) {
  std::error_code error;
  const fs::path parent = fs::path(file).parent_path();
  if (!parent.empty() && !fs::is_directory(parent, error))
    throw std::runtime_error(option + " " + file + ": there is no directory " + parent.string());
  if (fs::is_directory(file, error)) throw std::runtime_error(option + " " + file + ": is a directory, expected a file");
}

void check_directory_place(const std::string& option, const std::string& directory) {
  std::error_code error;
  if (fs::exists(directory, error) && !fs::is_directory(directory, error))
    throw std::runtime_error(option + " " + directory + ": is a file, expected a directory");
}

void remove_leftovers(const std::string& path) {
  const std::string beginning = fs::path(path).filename().string() + std::string(part_mark);
  std::error_code error;
  for (fs::directory_iterator file(fs::path(path).parent_path(), error), end; !error && file != end; file.increment(error)) {
    const std::string name = file->path().filename().string();
    if (!name.starts_with(beginning)) continue;
    const pid_t writer = std::atoi(name.c_str() + beginning.size());
    if (writer > 0 && ::kill(writer, 0) != 0 && errno == ESRCH) ::unlink(file->path().c_str());
  }
}

namespace {

/// True if both are files of the same bytes.
bool same_bytes(const std::string& x, const std::string& y) {
  try {
    const InputFile a(x), b(y);
    return a.size() == b.size() && read_file(x, a.size()) == read_file(y, b.size());
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

std::string keep_aside(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names{path + ".kept"};
  for (int i = 2; i <= 9; ++i) names.push_back(names.front() + "-" + std::to_string(i));
  const auto age = [&](const std::string& name) { return fs::last_write_time(name, error); };
  auto copy =
      std::ranges::find_if(names, [&](const std::string& name) { return !fs::exists(name, error) || same_bytes(name, path); });
  if (copy == names.end()) copy = std::ranges::min_element(names, {}, age);
  fs::copy_file(path, *copy, fs::copy_options::overwrite_existing, error);
  return error ? "" : *copy;
}

}  // namespace attoscope
