#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "app/commands/command_line.h"
#include "kernels/experiment/huge_pages.h"

namespace {

#ifdef __GLIBC__
/// Backs the first 48 MB of the heap with huge pages; an update touches thousands of small ones.
void use_huge_pages() {
  constexpr std::size_t size = 48 << 20;
  void* const heap = std::malloc(size);
  attoscope::ask_for_huge_pages(heap, heap != nullptr ? size : 0);
  std::free(heap);
}
#endif

/// Keeps freed memory for the next update: fresh pages cost a fifth of a full update at N = 1024. Glibc by default returns
/// every array above 128 KiB.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 64 << 20);
  use_huge_pages();
#endif
}

/// Opens the null device for each closed standard stream, whose number the next opened file would get, and with it messages for
/// the user. 0 is write-only, 1 and 2 are read-only, so that using them fails.
void open_closed_streams() {
  for (const int stream : {0, 1, 2})
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
}

/// Allows as many open files as the system grants: a set of hundreds of files keeps each open until all are placed.
void raise_file_limit() {
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  open_closed_streams();
  raise_file_limit();
  std::signal(SIGPIPE, SIG_IGN);  // writing to a closed pipe sets an error of the stream
  std::signal(SIGXFSZ, SIG_IGN);  // writing beyond `ulimit -f` sets an error
  std::signal(SIGCHLD, SIG_DFL);  // where a caller ignores it, no child's exit status can be read
  keep_freed_memory();
  ::setenv("CUDA_MODULE_LOADING", "LAZY", 0);  // drivers before CUDA 12.2 would load, and compile, all code at once
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return attoscope::app::run_command_line(arguments, std::cout, std::cerr);
}
