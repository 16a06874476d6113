/// A disk that is full after so many bytes, for this process's writes to regular files: needs no root and no file system of its
/// own. Programs whose sources list full_disk.cpp have it.
#pragma once

#include <cstdint>

namespace attoscope::testing {

/// While this lives, there is room for `bytes` more; the write that needs more is cut short, and the next fails with ENOSPC, as
/// on a real disk. Standard streams, pipes and other processes have room.
class FullDisk {
 public:
  explicit FullDisk(std::int64_t bytes);
  ~FullDisk();
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  /// True if something did not fit.
  bool was_full() const;
};

}  // namespace attoscope::testing
