#include "kernels/system_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>

namespace attoscope {

double memory_limit(const std::string& cgroup) {
  double least = std::numeric_limits<double>::infinity();
  for (const char* file : {"/memory.max", "/memory/memory.limit_in_bytes"})  // of versions 2 and 1; "max" is no number
    if (double limit = 0; std::ifstream(cgroup + file) >> limit) least = std::min(least, limit);
  return least;
}

double available_bytes() {
  static const double limit = memory_limit("/sys/fs/cgroup");
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    double kib = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %lf kB", &kib) == 1) return std::min(limit, kib * 1024);
  }
  return std::min(limit, static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE)));
}

}  // namespace attoscope
