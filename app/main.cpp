#include <malloc.h>

#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "app/commands/command_line.h"

namespace {

/// Keeps freed memory for the next update: fresh pages cost a fifth of a full update at N = 1024. Glibc's own limits would hand
/// back every array beyond 128 KiB.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe becomes an error of the stream
  keep_freed_memory();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return attoscope::run_command_line(arguments, std::cout, std::cerr);
}
