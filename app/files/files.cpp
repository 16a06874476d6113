#include "app/files/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "app/files/file_mapping.h"
#include "app/files/zip.h"

namespace attoscope::app {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw std::runtime_error((path.empty() ? "''" : path) + ": " + what + ": " + std::generic_category().message(error));
}

void write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, "cannot be written", errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// Syncs the directory entry to disk; failure is ignored, as some file systems cannot.
void sync_directory(const fs::path& directory) {
  const Descriptor d(::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (d.valid()) ::fsync(d.get());
}

/// Target of `path`, which may be a link: writing replaces the target and keeps the link.
std::string followed(const std::string& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  const fs::path target = fs::weakly_canonical(path, error);
  return error ? path : target.string();
}

/// Separates a file's name from the id of the process that writes it.
constexpr std::string_view part_mark = ".part-";
/// Names of folders of old files, before a process id: while new files are being placed, and after all are.
constexpr std::string_view replaced_mark = ".attoscope-replaced-", outdated_mark = ".attoscope-outdated-";

fs::path folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

/// Locks a new file or folder; false if another program took it for a leftover before. Some file systems have no locks.
bool lock_new(int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat status{};
  return ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

/// Makes and locks what `make` opens, with the first free name that begins with `beginning` and the id of this process. The
/// lock is not valid, with errno, if that fails.
template <class Make>
LockedPath make_locked(const std::string& beginning, const Make& make) {
  constexpr int attempts = 100;
  LockedPath made;
  for (int i = 0; i < attempts; ++i) {
    made.path = beginning + std::to_string(::getpid()) + "-" + std::to_string(i);
    made.lock = Descriptor(make(made.path.c_str()));
    const bool is_made = made.lock.valid();
    if (is_made && lock_new(made.lock.get())) return made;
    if (!is_made && errno != EEXIST && errno != ENOENT) return made;  // ENOENT: taken for a leftover before it was opened
  }
  return made;
}

/// Makes a new file beside `path`.
LockedPath open_beside(const std::string& path, mode_t mode) {
  return make_locked(path + std::string(part_mark),
                     [&](const char* name) { return ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode); });
}

/// `folder_of`, the same for all spellings of one folder.
fs::path full_folder_of(const std::string& path) {
  std::error_code error;
  const fs::path full = fs::canonical(folder_of(path), error);
  return error ? folder_of(path) : full;
}

/// Writes `bytes` to a new file beside `path`, with the mode of `like` if that exists.
LockedPath write_beside(const std::string& path, std::string_view bytes, Safety safety, const std::string& like) {
  struct stat status{};
  const bool has_mode = ::stat(like.c_str(), &status) == 0;
  LockedPath temporary = open_beside(path, has_mode ? 0600 : 0666);
  const int fd = temporary.lock.get();
  if (fd < 0) fail(path, "cannot be written", errno);
  try {
    if (has_mode) ::fchmod(fd, status.st_mode & 07777);  // fails on file systems without modes
    write_all(fd, bytes, path);
    if (safety == Safety::machine && ::fsync(fd) != 0 && errno != EINVAL) fail(path, "cannot be written", errno);
  } catch (...) {
    ::unlink(temporary.path.c_str());
    throw;
  }
  return temporary;
}

/// Makes a file beside `path` and removes it; returns errno if that fails, else 0.
int error_beside(const std::string& path) {
  const LockedPath made = open_beside(path, 0666);
  if (!made.lock.valid()) return errno;
  ::unlink(made.path.c_str());
  return 0;
}

/// True if `path` is another user's file in a folder that lets only owners replace their files, such as /tmp.
bool is_of_another_user(const std::string& path) {
  struct stat folder{}, file{};
  const uid_t user = ::geteuid();
  return user != 0 && ::stat(folder_of(path).c_str(), &folder) == 0 && (folder.st_mode & S_ISVTX) != 0 &&
         folder.st_uid != user && ::stat(path.c_str(), &file) == 0 && file.st_uid != user;
}

/// Moves the files of `aside` back to its parent folder. A folder in it stands for a file that did not exist.
void put_back(const fs::path& aside) {
  std::error_code error, ignored;
  for (fs::directory_iterator file(aside, error), end; !error && file != end; file.increment(error)) {
    const fs::path place = aside.parent_path() / file->path().filename();
    if (!file->is_directory(ignored))
      ::rename(file->path().c_str(), place.c_str());
    else if (::rmdir(file->path().c_str()) == 0)
      ::unlink(place.c_str());
  }
  ::rmdir(aside.c_str());
}

/// Old files of one folder, moved away while new ones are placed; locks the folder. Destruction moves them back unless `forget`
/// was called.
class BackupSet {
 public:
  explicit BackupSet(fs::path folder) : folder_(std::move(folder)), lock_(folder_ / "") {}
  ~BackupSet() {
    if (aside_.lock.valid()) put_back(aside_.path);
  }
  BackupSet(BackupSet&&) = delete;

  /// Moves the files that exist.
  void take(const std::vector<fs::path>& paths) {
    std::error_code error;
    if (std::ranges::none_of(paths, [&](const fs::path& p) { return fs::exists(p, error); })) return;
    aside_ = make_locked_folder(folder_ / replaced_mark);
    if (!aside_.lock.valid()) fail(folder_.string(), "cannot be written", errno);
    for (const fs::path& path : paths) {
      const fs::path to = aside_.path / path.filename();
      if (::rename(path.c_str(), to.c_str()) == 0 || (errno == ENOENT && ::mkdir(to.c_str(), 0700) == 0)) continue;
      fail(path.string(), "cannot be written", errno);
    }
  }
  /// Deletes the old files once all new ones are placed. If the program is killed after the renaming, the new files remain.
  void forget() {
    if (!aside_.lock.valid()) return;
    const LockedPath old = std::exchange(aside_, {});
    const std::string name = fs::path(old.path).filename().string();
    const fs::path outdated = folder_ / (std::string(outdated_mark) + name.substr(replaced_mark.size()));
    std::error_code ignored;
    fs::remove_all(::rename(old.path.c_str(), outdated.c_str()) == 0 ? outdated : fs::path(old.path), ignored);
  }

 private:
  const fs::path folder_;
  const FolderLock lock_;  ///< keeps the set of another program from mixing with this one
  LockedPath aside_;       ///< lock not valid: no file was moved
};

/// Cleans up after a killed program: part files of `name`, and folders of old files.
void remove_leftover(const fs::path& found, const std::string& name) {
  std::error_code ignored;
  if (const Descriptor part = leftover(found, name + std::string(part_mark)); part.valid()) ::unlink(found.c_str());
  if (const Descriptor old = leftover(found, replaced_mark); old.valid()) put_back(found);
  if (const Descriptor old = leftover(found, outdated_mark); old.valid()) fs::remove_all(found, ignored);
}

/// Size limit of copies; larger files are not sessions.
constexpr std::uint64_t largest_kept = 1 << 28;
constexpr int most_kept = 999;

/// True if the file has these bytes.
bool has_bytes(const std::string& path, const std::string& bytes) try {
  return read_file(path, bytes.size()) == bytes;
} catch (const std::exception&) {  // it is missing, or larger
  return false;
}

/// Gives `temporary` the name `name` atomically; false if the name exists.
bool link_as(const std::string& temporary, const std::string& name) {
  if (::link(temporary.c_str(), name.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  std::error_code error;
  if (fs::exists(name, error)) return false;
  if (::rename(temporary.c_str(), name.c_str()) != 0)
    fail(name, "cannot be written", errno);  // a file system without hard links
  return true;
}

/// A file's own path, by which it is told from others; "" for no file, and for a device, to which several may write.
fs::path compared_path(const std::string& file) {
  std::error_code error;
  if (file.empty() || file == "-" || (fs::exists(file, error) && !fs::is_regular_file(file, error))) return {};
  const fs::path full = fs::weakly_canonical(fs::absolute(file, error), error);
  return full.empty() ? fs::path(file).lexically_normal() : full;  // empty if a folder on the way may not be entered
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

InputFile::InputFile(const std::string& path, Links links) : path_(path) {
  if (std::optional<PackedFile> packed = packed_file(path)) {
    size_ = packed->size;
    read_ = std::move(packed->read);
    return;
  }
  struct stat status{};
  const bool followed = links == Links::followed;
  if ((followed ? ::stat : ::lstat)(path.c_str(), &status) != 0) fail(path, "cannot be opened", errno);
  if (!S_ISREG(status.st_mode)) throw std::runtime_error(path + ": cannot be opened: not a regular file");
  descriptor_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | (followed ? 0 : O_NOFOLLOW)));
  if (!descriptor_.valid() && errno == EAGAIN) throw NotFetched(path + ": is still being fetched");
  if (!descriptor_.valid()) fail(path, "cannot be opened", errno);
  if (::fstat(descriptor_.get(), &status) != 0) fail(path, "cannot be read", errno);
  size_ = static_cast<std::uint64_t>(status.st_size);
  auto mapping = std::make_shared<FileMapping>(descriptor_.get(), size_);
  if (mapping->valid()) mapping_ = std::move(mapping);
}

void InputFile::read_at(std::uint64_t offset, std::span<char> bytes) const {
  const bool within = offset <= size_ && bytes.size() <= size_ - offset;
  if (read_ && !within) throw std::runtime_error(path_ + ": ends at byte " + std::to_string(size_) + ", expected more");
  if (read_) return read_(offset, bytes);
  const bool copied = within && mapping_ && mapping_->copy(offset, bytes);
  // a truncated mapping reads zeros up to the end of a page; pread reports the error
  if (!copied || !has_still(offset + bytes.size())) read_by_descriptor(offset, bytes);
}

bool InputFile::has_still(std::uint64_t size) const {
  struct stat status{};
  return ::fstat(descriptor_.get(), &status) == 0 && static_cast<std::uint64_t>(status.st_size) >= size;
}

void InputFile::read_by_descriptor(std::uint64_t offset, std::span<char> bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(descriptor_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path_, "cannot be read", errno);
    if (n == 0) throw std::runtime_error(path_ + ": ends at byte " + std::to_string(offset) + ", expected more");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

bool can_open(const std::string& path) try { return InputFile(path).path() == path; } catch (const NotFetched&) {
  return true;
} catch (const std::exception&) {
  return false;
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

std::string file_state(const std::string& path) {
  std::error_code error;
  return std::to_string(fs::file_size(path, error)) + " " +
         std::to_string(static_cast<std::int64_t>(fs::last_write_time(path, error).time_since_epoch().count()));
}

StagedFiles::~StagedFiles() {
  for (const Staged& f : files_)
    if (f.temporary.lock.valid()) ::unlink(f.temporary.path.c_str());
  for (auto d = directories_.rbegin(); d != directories_.rend(); ++d) ::rmdir(d->c_str());  // fails if not empty
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
  remove_leftovers(target);  // first, to free disk space
  files_.push_back({write_beside(target, bytes, safety_, target), target});
}

void StagedFiles::add_absence(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) files_.push_back({{}, followed(path)});
}

/// Renames all files; on failure restores the old ones.
void StagedFiles::place() {
  std::map<fs::path, std::vector<fs::path>> sets;
  for (const Staged& f : files_) sets[full_folder_of(f.path)].emplace_back(f.path);
  std::vector<std::unique_ptr<BackupSet>> old;
  for (const auto& [folder, paths] : sets) {
    const auto goes = [&, folder = folder](const Staged& f) {
      return !f.temporary.lock.valid() && full_folder_of(f.path) == folder;
    };
    const bool some_go = std::ranges::any_of(files_, goes);
    if (paths.size() < 2 && !some_go) continue;  // rename replaces a single file atomically
    old.push_back(std::make_unique<BackupSet>(folder));
    old.back()->take(paths);
  }
  for (auto f = files_.begin(); f != files_.end(); ++f) {
    if (!f->temporary.lock.valid() || ::rename(f->temporary.path.c_str(), f->path.c_str()) == 0) continue;
    const int error = errno;
    for (auto placed = files_.begin(); placed != f; ++placed)
      if (sets[full_folder_of(placed->path)].size() > 1) ::unlink(placed->path.c_str());
    fail(f->path, "cannot be written", error);
  }
  for (const auto& aside : old) aside->forget();
  if (safety_ == Safety::program) return;
  for (const auto& [folder, paths] : sets) sync_directory(folder);
}

void StagedFiles::commit() {
  place();
  files_.clear();
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
  if (fs::exists(file, error) && !fs::is_regular_file(file, error)) return;  // a device or a pipe is written at once
  const std::string target = followed(file);
  const int why = is_of_another_user(target) ? EPERM : error_beside(target);
  if (why != 0) fail(option + " " + file, "cannot be written", why);
}

void check_directory_place(const std::string& option, const std::string& directory) {
  std::error_code error;
  if (fs::exists(directory, error) && !fs::is_directory(directory, error))
    throw std::runtime_error(option + " " + directory + ": is a file, expected a directory");
  const char* const what = fs::is_directory(directory, error) ? "cannot be written" : "cannot be made a directory";
  const auto check = [&](int why) {
    if (why != 0) fail(option + " " + directory, what, why);
  };
  fs::path folder = fs::absolute(directory, error);  // then the folder that exists, in which new ones are made
  for (; !fs::exists(fs::symlink_status(folder, error)) && folder.has_relative_path(); folder = folder.parent_path())
    check(folder.filename().native().size() > NAME_MAX ? ENAMETOOLONG : 0);
  check(fs::is_directory(folder, error) ? error_beside((folder / "attoscope").string()) : ENOTDIR);
}

void check_distinct(const std::vector<OutputPlace>& written, const std::vector<OutputPlace>& read) {
  std::map<fs::path, std::string> options;
  const auto refuse = [](const OutputPlace& p, const std::string& earlier) {
    throw std::invalid_argument(p.option + " " + p.file + ": " + earlier + " writes this file, too, expected another");
  };
  for (const OutputPlace& p : written)
    if (const fs::path path = compared_path(p.file); !path.empty())
      if (const auto [earlier, is_new] = options.try_emplace(path, p.option); !is_new) refuse(p, earlier->second);
  if (options.empty()) return;
  for (const OutputPlace& p : read)
    if (const auto found = options.find(compared_path(p.file)); found != options.end()) refuse(p, found->second);
}

LockedPath make_locked_folder(const std::string& beginning) {
  return make_locked(beginning, [](const char* name) {
    if (::mkdir(name, 0700) != 0) return -1;
    const int fd = ::open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = errno;
    if (fd < 0) {
      ::rmdir(name);
      errno = error;
    }
    return fd;
  });
}

Descriptor leftover(const std::string& path, std::string_view beginning) {
  const std::string name = fs::path(path).filename().string();
  const std::size_t end = name.find_first_not_of("0123456789", beginning.size());
  if (!name.starts_with(beginning) || end == std::string::npos || end == beginning.size() || name[end] != '-') return {};
  Descriptor d(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (d.valid() && ::flock(d.get(), LOCK_SH | LOCK_NB) == 0) return d;
  return {};
}

void remove_leftovers(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  std::vector<fs::path> found;  // collected first, as the folder changes below
  std::error_code error;
  for (fs::directory_iterator file(folder_of(path), error), end; !error && file != end; file.increment(error))
    found.push_back(file->path());
  for (const fs::path& file : found) remove_leftover(file, name);
}

void remove_leftover_folders(const std::string& directory, std::string_view beginning) {
  std::error_code error, ignored;
  for (fs::directory_iterator folder(directory, error), end; !error && folder != end; folder.increment(error)) {
    if (!folder->is_directory(ignored) || !folder->path().filename().string().starts_with(beginning)) continue;
    bool removed = false;
    for (fs::directory_iterator file(folder->path(), ignored); !ignored && file != end; file.increment(ignored)) {
      const std::string name = file->path().filename().string();
      const std::size_t mark = name.rfind(part_mark);
      if (mark == std::string::npos) continue;
      const Descriptor part = leftover(file->path(), name.substr(0, mark + part_mark.size()));
      if (part.valid()) removed |= ::unlink(file->path().c_str()) == 0;
    }
    if (removed) ::rmdir(folder->path().c_str());  // fails if not empty
  }
}

std::string keep_aside(const std::string& path) try {
  const std::string bytes = read_file(path, largest_kept);
  std::vector<std::string> names{path + ".kept"};
  for (int i = 2; i <= most_kept; ++i) names.push_back(names.front() + "-" + std::to_string(i));
  remove_leftovers(names.front());
  for (const std::string& name : names) {
    if (has_bytes(name, bytes)) return name;
    std::error_code error;
    if (fs::exists(name, error)) continue;
    const LockedPath temporary = write_beside(names.front(), bytes, Safety::machine, path);
    const bool linked = link_as(temporary.path, name);
    ::unlink(temporary.path.c_str());
    if (!linked) continue;
    sync_directory(folder_of(path));
    return name;
  }
  return "";
} catch (const std::exception&) {
  return "";
}

FileLock::FileLock(int descriptor) : descriptor_(descriptor) {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + 2s;
  while (descriptor_ >= 0 && !held_) {
    held_ = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    if (held_ || (errno != EWOULDBLOCK && errno != EINTR) || std::chrono::steady_clock::now() > end) return;
    std::this_thread::sleep_for(500us);
  }
}

FileLock::~FileLock() {
  if (held_) ::flock(descriptor_, LOCK_UN);
}

FolderLock::FolderLock(const std::string& path)
    : folder_(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), lock_(folder_.get()) {}

std::uint64_t hash_of(std::string_view bytes) {
  const std::uint64_t hash = std::hash<std::string_view>{}(bytes);
  return hash == 0 ? 1 : hash;
}

}  // namespace attoscope::app
