/// The point cache of one test, and its contents.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/files/paths.h"
#include "app/sweep/point_cache.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::testing {

/// The point cache of one test.
class OwnCache {
 public:
  std::string directory() const { return default_point_cache(); }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    if (!std::filesystem::exists(directory())) return found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory()))
      if (entry.is_regular_file()) found.push_back(entry.path());
    return found;
  }
  /// Bytes per point from the file's name: a point in "3f-472.points" has 472 bytes.
  static std::uint64_t point_bytes(const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    return std::stoull(name.substr(name.find('-') + 1));
  }
  /// Number of cached points.
  std::uint64_t points() const {
    std::uint64_t count = 0;
    for (const std::filesystem::path& file : files()) count += std::filesystem::file_size(file) / point_bytes(file);
    return count;
  }

 private:
  TemporaryDirectory scratch_;
  Environment at_scratch_{"XDG_CACHE_HOME", scratch_ / "cache"};
};

}  // namespace attoscope::testing
