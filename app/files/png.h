/// Pictures as PNG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attoscope::app {

/// 8-bit RGB, rows from the top.
struct Picture {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

/// Bytes of a PNG file. Throws std::runtime_error on failure.
std::string to_png(const Picture& picture);

/// Writes a PNG to a temporary file, then renames it. Throws std::runtime_error with one sentence that names the file.
void write_png(const std::string& path, const Picture& picture);

}  // namespace attoscope::app
