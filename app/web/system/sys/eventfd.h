/// Event files, which a browser lacks: opening one fails.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <cstdint>

inline constexpr int EFD_CLOEXEC = O_CLOEXEC;
inline int eventfd(unsigned, int) {
  errno = ENOSYS;
  return -1;
}
inline int eventfd_write(int, std::uint64_t) { return eventfd(0, 0); }
