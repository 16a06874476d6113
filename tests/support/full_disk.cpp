// Replaces the C library's write and pwrite in this program at link time.
#include "tests/support/full_disk.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <limits>

namespace attoscope::testing {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
std::atomic<std::int64_t> room{no_limit};
std::atomic<bool> overflowed{false};

bool is_limited(int fd) {
  struct stat status{};
  return fd > 2 && room != no_limit && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/// Number of the `count` bytes that fit; -1 and errno ENOSPC if none fits.
std::int64_t granted(int fd, std::size_t count) {
  const auto wanted = static_cast<std::int64_t>(count);
  if (!is_limited(fd)) return wanted;
  const std::int64_t given = std::min(wanted, std::max<std::int64_t>(room, 0));
  room -= given;
  if (given < wanted) overflowed = true;
  if (given > 0 || wanted == 0) return given;
  errno = ENOSPC;
  return -1;
}

}  // namespace

FullDisk::FullDisk(std::int64_t bytes) {
  overflowed = false;
  room = bytes;
}
FullDisk::~FullDisk() { room = no_limit; }
bool FullDisk::was_full() const { return overflowed; }

}  // namespace attoscope::testing

extern "C" {

ssize_t write(int fd, const void* bytes, size_t count) {
  const std::int64_t given = attoscope::testing::granted(fd, count);
  return given < 0 ? -1 : ::syscall(SYS_write, fd, bytes, static_cast<size_t>(given));
}

ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  const std::int64_t given = attoscope::testing::granted(fd, count);
  return given < 0 ? -1 : ::syscall(SYS_pwrite64, fd, bytes, static_cast<size_t>(given), offset);
}
}
