/// A file in memory.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace attoscope::testing {

/// A memory file with several names: the ending of a name selects the reader.
class MemoryFile {
 public:
  explicit MemoryFile(const std::vector<std::string>& names) : descriptor_(memfd_create("attoscope", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::runtime_error("no file in memory");
    const std::string target = "/proc/self/fd/" + std::to_string(descriptor_);
    for (const std::string& name : names) std::filesystem::create_symlink(target, links_ / name);
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  /// Writes the bytes; returns the path with this name.
  std::string holding(std::string_view bytes, const std::string& name) const {
    if (ftruncate(descriptor_, 0) != 0 ||
        pwrite(descriptor_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
      throw std::runtime_error("no file in memory");
    return links_ / name;
  }

 private:
  TemporaryDirectory links_;
  int descriptor_;
};

}  // namespace attoscope::testing
