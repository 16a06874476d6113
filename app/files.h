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

/// Files that appear together: each is written beside its place, and `commit` renames them all. Until then nothing is to be
/// seen, and what was written goes away with this object. A device or a pipe is written at once.
class StagedFiles {
 public:
  StagedFiles() = default;
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
  std::vector<Staged> files_;
  std::vector<std::string> directories_;
};

/// One file, by way of StagedFiles.
void write_file(const std::string& path, std::string_view bytes);

}  // namespace attoscope
