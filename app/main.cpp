#include <fcntl.h>
#include <malloc.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "app/commands/command_line.h"
#include "kernels/experiment/huge_pages.h"

namespace {

#ifdef __GLIBC__
/// The first part of the heap, of which nothing is in use yet: an update touches thousands of pages of 4 KiB.
void use_huge_pages() {
  constexpr std::size_t size = 48 << 20;
  void* const heap = std::malloc(size);
  attoscope::ask_for_huge_pages(heap, heap != nullptr ? size : 0);
  std::free(heap);
}
#endif

/// Keeps freed memory for the next update: fresh pages cost a fifth of a full update at N = 1024. Glibc's own limits would hand
/// back every array beyond 128 KiB.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 64 << 20);
  use_huge_pages();
#endif
}

/// Where standard input, output or error was closed, the first file that is opened would take its number, and what is meant for
/// a person would be written into it. The null device takes these numbers instead, opened so that what cannot be told still is
/// a failure: nothing is to be read from 0, nor to be written to 1 and 2.
void open_closed_streams() {
  for (const int stream : {0, 1, 2})
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
}

}  // namespace

int main(int argc, char** argv) {
  open_closed_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe becomes an error of the stream
  std::signal(SIGXFSZ, SIG_IGN);  // a file that is larger than `ulimit -f` allows becomes an error of the write
  keep_freed_memory();
  ::setenv("CUDA_MODULE_LOADING", "LAZY", 0);  // a driver older than CUDA 12.2's would load, and compile, all code at once
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return attoscope::run_command_line(arguments, std::cout, std::cerr);
}
