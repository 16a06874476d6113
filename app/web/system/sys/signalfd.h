/// Signal files, which a browser lacks: opening one fails.
#pragma once

#include <fcntl.h>
#include <signal.h>

#include <cerrno>
#include <cstdint>

inline constexpr int SFD_NONBLOCK = O_NONBLOCK, SFD_CLOEXEC = O_CLOEXEC;
struct signalfd_siginfo {
  std::uint32_t ssi_signo;
};
inline int signalfd(int, const sigset_t*, int) {
  errno = ENOSYS;
  return -1;
}
