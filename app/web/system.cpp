/// Functions of Linux that a browser lacks: it runs no programs such as gnuplot, and would copy mapped files.
#include <spawn.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>

int posix_spawnp(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*, char* const*) {
  return ENOENT;
}

int memfd_create(const char*, unsigned) {
  errno = ENOSYS;
  return -1;
}

void* mmap(void*, std::size_t, int, int, int, off_t) {
  errno = ENODEV;
  return MAP_FAILED;
}
