/// A mapped file; truncation is reported instead of SIGBUS.
#pragma once

#include <cstdint>
#include <span>

namespace attoscope::app {

/// Bytes of an open file, read from disk on first access.
class FileMapping {
 public:
  /// Maps the first `size` bytes. The descriptor may be closed afterwards.
  FileMapping(int descriptor, std::uint64_t size);
  ~FileMapping();
  FileMapping(FileMapping&&) = delete;
  /// False if the file is empty or its file system cannot map.
  bool valid() const { return begin_ != nullptr; }
  /// Copies the bytes from `offset`; the range must be within the size. False if the file was truncated or the disk failed;
  /// `bytes` are then undefined.
  bool copy(std::uint64_t offset, std::span<char> bytes) const;

 private:
  const char* begin_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace attoscope::app
