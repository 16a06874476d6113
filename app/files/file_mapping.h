/// A file as memory. A file that another program cuts meanwhile is answered, where such memory otherwise ends the program.
#pragma once

#include <cstdint>
#include <span>

namespace attoscope {

/// The bytes of an open file, which the system reads from the disk when they are first touched.
class FileMapping {
 public:
  /// The first `size` bytes. The descriptor is not needed afterwards.
  FileMapping(int descriptor, std::uint64_t size);
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;
  /// False: the file is empty, or its file system maps none.
  bool valid() const { return begin_ != nullptr; }
  /// Copies what lies at `offset`, which is within the size, to `bytes`. False where the file has become shorter than that or
  /// the disk gives nothing; `bytes` are then undefined.
  bool copy(std::uint64_t offset, std::span<char> bytes) const;

 private:
  const char* begin_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace attoscope
