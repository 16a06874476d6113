/// Files: read with limits, written so that nobody ever sees half of one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
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

/// A regular file, open for reading anywhere. Every failure is a std::runtime_error of one sentence that names the file.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Fills `bytes` from `offset` on; throws where the file ends before.
  void read_at(std::uint64_t offset, std::span<char> bytes) const;

 private:
  std::string path_;
  Descriptor descriptor_;
  std::uint64_t size_ = 0;
};

/// All of a file of at most `limit` bytes.
std::string read_file(const std::string& path, std::uint64_t limit);

/// What a file that was written is safe from: the end of this program, or that of the machine too, which costs an fsync of the
/// file and one of its directory.
enum class Safety : std::uint8_t { program, machine };

/// Files that appear together: each is written beside its place, and `commit` renames them all. Until then nothing is to be
/// seen, and what was written goes away with this object. A device or a pipe is written at once.
class StagedFiles {
 public:
  explicit StagedFiles(Safety safety = Safety::program) : safety_(safety) {}
  ~StagedFiles();
  StagedFiles(const StagedFiles&) = delete;
  StagedFiles& operator=(const StagedFiles&) = delete;

  /// Makes a directory and its parents, removed again unless `commit` comes.
  void make_directory(const std::string& path);
  void add(const std::string& path, std::string_view bytes);
  void commit();

 private:
  struct Staged {
    std::string temporary, path;
  };
  Safety safety_;
  std::vector<Staged> files_;
  std::vector<std::string> directories_;
};

/// One file, by way of StagedFiles.
void write_file(const std::string& path, std::string_view bytes);

/// One file that is safe from the end of the machine; its directory is made where it is missing.
void write_safely(const std::string& path, std::string_view bytes);

/// Before anything is computed: throw std::runtime_error, in a sentence that begins with the option, where the file could not
/// be written since its directory is missing or it is one, where the directory could not be since it is a file.
void check_place(const std::string& option, const std::string& file);
void check_directory_place(const std::string& option, const std::string& directory);

/// Removes what programs that were killed while they wrote `path` left beside it.
void remove_leftovers(const std::string& path);

/// Copies a file beside itself, before another takes its place: FILE.kept, FILE.kept-2 .. FILE.kept-9, whichever holds the same
/// bytes, is free, or is the oldest. Returns the copy's path; empty: it could not be made.
std::string keep_aside(const std::string& path);

}  // namespace attoscope
