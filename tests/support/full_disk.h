/// Simulates a full disk for this process's writes to regular files, without root and without a file system of its own.
/// For test programs whose sources list full_disk.cpp.
#pragma once

#include <cstdint>

namespace attoscope::testing {

/// While this lives, the disk has room for `bytes` more: the write beyond them is cut short, and the next write fails with
/// ENOSPC, as on a real disk. Standard streams, pipes and other processes are not limited.
class FullDisk {
 public:
  explicit FullDisk(std::int64_t bytes);
  ~FullDisk();
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  /// True if a write did not fit.
  bool was_full() const;
};

}  // namespace attoscope::testing
