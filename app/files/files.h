/// Files: read with limits, written so that nobody ever sees half of one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attoscope {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int release();
  int fd_ = -1;
};

class FileMapping;

/// A regular file, or a part of one, open for reading anywhere: it is mapped into memory, so that of a large one only what is
/// read comes from the disk. Every failure is a std::runtime_error of one sentence that names it.
class InputFile {
 public:
  /// Whether a path may be a link.
  enum class Links : std::uint8_t { followed, refused };
  /// Fills bytes from an offset on that lie within the file; throws where they cannot be read.
  using Read = std::function<void(std::uint64_t offset, std::span<char> bytes)>;

  explicit InputFile(const std::string& path, Links links = Links::followed);
  /// What others read: `path` names it in sentences.
  InputFile(std::string path, std::uint64_t size, Read read) : path_(std::move(path)), size_(size), read_(std::move(read)) {}
  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Fills `bytes` from `offset` on; throws where the file ends before.
  void read_at(std::uint64_t offset, std::span<char> bytes) const;

 private:
  bool has_still(std::uint64_t size) const;
  void read_by_descriptor(std::uint64_t offset, std::span<char> bytes) const;

  std::string path_;
  Descriptor descriptor_;
  std::uint64_t size_ = 0;
  std::shared_ptr<const FileMapping> mapping_;  ///< none: the file is empty, or its file system maps nothing
  Read read_;                                   ///< none: by the mapping, or the descriptor
};

/// All of a file of at most `limit` bytes.
std::string read_file(const std::string& path, std::uint64_t limit);

/// What a file that was written is safe from: the end of this program, or that of the machine too, which costs an fsync of the
/// file and one of its directory.
enum class Safety : std::uint8_t { program, machine };

/// Files that appear together: each is written beside its place, and `commit` renames them all. Until then nothing is to be
/// seen, and what was written goes away with this object. A device or a pipe is written at once. A file that is replaced keeps
/// its mode; what killed programs left beside it is removed first.
///
/// Several files of one folder never mix with those of an earlier set: the old ones step aside before the first new one takes
/// its place. A program that is killed in between leaves them in a hidden folder, out of which the next one puts them back.
class StagedFiles {
 public:
  explicit StagedFiles(Safety safety = Safety::program) : safety_(safety) {}
  ~StagedFiles();
  StagedFiles(const StagedFiles&) = delete;
  StagedFiles& operator=(const StagedFiles&) = delete;

  /// Makes a directory and its parents, removed again unless `commit` comes.
  void make_directory(const std::string& path);
  void add(const std::string& path, std::string_view bytes);
  /// Once the others stand in their places, this file of an earlier set is gone.
  void add_absence(const std::string& path);
  /// All or none: where one cannot take its place, the old ones stand there again.
  void commit();

 private:
  struct Staged {
    std::string temporary, path;  ///< no temporary: the file is to be gone
  };
  void place();

  Safety safety_;
  std::vector<Staged> files_;
  std::vector<std::string> directories_;
};

/// One file, by way of StagedFiles.
void write_file(const std::string& path, std::string_view bytes);

/// One file that is safe from the end of the machine; its directory is made where it is missing.
void write_safely(const std::string& path, std::string_view bytes);

/// Before anything is computed: throw std::runtime_error, in a sentence that begins with the option, where the file could not
/// be written since its directory is missing or read-only or it is one, where the directory could not be since it is a file.
void check_place(const std::string& option, const std::string& file);
void check_directory_place(const std::string& option, const std::string& directory);

/// What is to be written where: "--csv" and its file; "" and "-" are no files.
struct OutputPlace {
  std::string option, file;
};
/// Throws std::invalid_argument in a sentence where two of them are the same file.
void check_distinct(const std::vector<OutputPlace>& places);

/// Removes what programs that were killed while they wrote `path` left beside it.
void remove_leftovers(const std::string& path);

/// The same in the folders in `directory` whose names begin so; one that then is empty goes, too.
void remove_leftover_folders(const std::string& directory, std::string_view beginning);

/// True while a process of this number, which 0 is none, runs, whoever it belongs to.
bool is_running(int process);

/// The number of the process that a name tells behind `beginning`, as in "session.json.part-1234-0"; 0: it tells none.
int process_in(std::string_view name, std::string_view beginning);

/// Copies a file beside itself, before another takes its place: FILE.kept, FILE.kept-2, ..., whichever holds the same bytes or
/// is free, never over an earlier one. Returns the copy's path; empty: it could not be made, and nothing was left.
std::string keep_aside(const std::string& path);

/// A lock on an open file or folder, for as long as this lives: other programs and threads that lock it wait, but never longer
/// than two seconds. One that is killed holds nothing.
class FileLock {
 public:
  explicit FileLock(int descriptor);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  /// False where others held it for too long, or the file system knows no locks.
  bool held() const { return held_; }

 private:
  int descriptor_;
  bool held_ = false;
};

/// The same for the folder of a path, in which several files are to change together.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path);

 private:
  Descriptor folder_;
  FileLock lock_;
};

/// What tells two contents of a file apart, for programs of one build; never 0.
std::uint64_t hash_of(std::string_view bytes);

}  // namespace attoscope
