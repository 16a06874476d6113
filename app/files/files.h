/// Files: read with limits, written completely or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attoscope::app {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);  // the other one closes what was held here
    return *this;
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// A new file or folder, locked while the descriptor is open, so that no program takes it for a leftover.
struct LockedPath {
  std::string path;
  Descriptor lock;
};

class FileMapping;

/// Thrown if a file's content is still being fetched, as in a web page; opening it again later succeeds.
class NotFetched : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A regular file, a part of one, or a file inside a packed session (`packed_file`), for random reads. It is memory-mapped:
/// only the parts that are read come from disk. Every failure is a std::runtime_error, perhaps NotFetched, with one sentence
/// that names the file.
class InputFile {
 public:
  /// Treatment of symbolic links.
  enum class Links : std::uint8_t { followed, refused };
  /// Fills bytes from an offset within the file; throws on failure.
  using Read = std::function<void(std::uint64_t offset, std::span<char> bytes)>;

  explicit InputFile(const std::string& path, Links links = Links::followed);
  /// A file read by `read`; `path` is its name in sentences.
  InputFile(std::string path, std::uint64_t size, Read read) : path_(std::move(path)), size_(size), read_(std::move(read)) {}
  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Fills `bytes` from `offset`; throws if the file ends before.
  void read_at(std::uint64_t offset, std::span<char> bytes) const;

 private:
  bool has_still(std::uint64_t size) const;
  void read_by_descriptor(std::uint64_t offset, std::span<char> bytes) const;

  std::string path_;
  Descriptor descriptor_;
  std::uint64_t size_ = 0;
  std::shared_ptr<const FileMapping> mapping_;  ///< none: the file is empty, or its file system cannot map
  Read read_;                                   ///< none: use the mapping or the descriptor
};

/// True if there is a file of this name that can be opened, now or once it is fetched.
bool can_open(const std::string& path);

/// Returns read(); prefixes a std::runtime_error that it throws with the file's name, unless it begins with that.
template <class Read>
auto named_in_errors(const std::string& file, Read read) {
  try {
    return read();
  } catch (const std::runtime_error& error) {
    const std::string what = error.what();
    throw std::runtime_error(what.starts_with(file) ? what : file + ": " + what);
  }
}

/// All of a file of at most `limit` bytes.
std::string read_file(const std::string& path, std::uint64_t limit);

/// A text that changes when the size or the time of writing of a file does.
std::string file_state(const std::string& path);

/// Durability of a written file. program: survives the end of this program. machine: also a crash of the machine, at the cost
/// of an fsync of the file and of its directory.
enum class Safety : std::uint8_t { program, machine };

/// Writes files as a set: each is written beside its place, and `commit` renames them all. Without `commit` nothing remains.
/// Devices and pipes are written at once. A replaced file keeps its mode; leftovers of killed programs are removed first.
///
/// A set of several files of one folder never mixes with an earlier one: the old files are moved away before the first new one
/// is placed. If the program is killed in between, they remain in a hidden folder, from which the next writer restores them.
/// Such a set locks its folder meanwhile (`FolderLock`).
class StagedFiles {
 public:
  explicit StagedFiles(Safety safety = Safety::program) : safety_(safety) {}
  ~StagedFiles();
  StagedFiles(StagedFiles&&) = delete;

  /// Creates a directory and its parents; removed again without `commit`.
  void make_directory(const std::string& path);
  void add(const std::string& path, std::string_view bytes);
  /// `commit` also deletes this file.
  void add_absence(const std::string& path);
  /// Places all files or none: on failure restores the old ones.
  void commit();

 private:
  struct Staged {
    LockedPath temporary;  ///< lock not valid: delete the file
    std::string path;
  };
  void place();

  Safety safety_;
  std::vector<Staged> files_;
  std::vector<std::string> directories_;
};

/// Writes one file through StagedFiles.
void write_file(const std::string& path, std::string_view bytes);

/// Writes one file that survives a crash of the machine; creates its directory.
void write_safely(const std::string& path, std::string_view bytes);

/// Checks before a computation that an output can be written. Throws std::runtime_error with one sentence that begins with the
/// option: the directory is missing or read-only, a name is too long, `file` is a directory or another user's in a folder such
/// as /tmp, or `directory` or a folder on the way to it is a file.
void check_place(const std::string& option, const std::string& file);
void check_directory_place(const std::string& option, const std::string& directory);

/// An option with the file that it writes: "--csv" and its file; "" and "-" are no files.
struct OutputPlace {
  std::string option, file;
};
/// Throws std::invalid_argument with one sentence if two of `written` are the same file, or one of `read` is one of them.
void check_distinct(const std::vector<OutputPlace>& written, const std::vector<OutputPlace>& read = {});

/// Removes leftovers beside `path` of programs that were killed while writing it.
void remove_leftovers(const std::string& path);

/// Removes such leftovers in folders of `directory` whose names begin with `beginning`, and folders that become empty.
void remove_leftover_folders(const std::string& directory, std::string_view beginning);

/// Makes and locks a new folder whose path begins with `beginning` and the id of this process. The lock is not valid, with
/// errno, if that fails.
LockedPath make_locked_folder(const std::string& beginning);

/// Locks a leftover of a killed program: its name is `beginning`, a process id, '-' and more, as in "session.json.part-1234-0",
/// and no program has it locked. Programs in other containers are seen, and on other machines if the file system shares its
/// locks; on one without locks nothing is a leftover. Not valid for other files.
Descriptor leftover(const std::string& path, std::string_view beginning);

/// Backs up a file beside itself: FILE.kept, FILE.kept-2, ..., the first that has the same bytes or is free; never overwrites.
/// Returns the backup's path; empty: it could not be written.
std::string keep_aside(const std::string& path);

/// Exclusive lock on an open file or folder while this object exists. Waits at most two seconds for other holders. The lock
/// ends with its process.
class FileLock {
 public:
  explicit FileLock(int descriptor);
  ~FileLock();
  FileLock(FileLock&&) = delete;

 private:
  int descriptor_;
  bool held_ = false;
};

/// Lock on the folder of a path, for changing several of its files together.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path);

 private:
  Descriptor folder_;
  FileLock lock_;
};

/// The whole number in these bytes, the lowest byte first, or the highest if `big_endian`.
inline std::uint64_t number_in(std::string_view bytes, bool big_endian = false) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    number = number << 8 | static_cast<unsigned char>(bytes[big_endian ? i : bytes.size() - 1 - i]);
  return number;
}

/// Hash of a file's content, comparable within one build; never 0.
std::uint64_t hash_of(std::string_view bytes);

}  // namespace attoscope::app
