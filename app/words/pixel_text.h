/// Small pictures as text: four characters for three pixels (base64, RFC 4648).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope::app {

std::string pixel_text(const std::vector<std::int8_t>& pixels);

/// Parses `size` pixels, a multiple of 3. Throws std::invalid_argument if the text is invalid.
std::vector<std::int8_t> parse_pixels(std::string_view text, int size);

}  // namespace attoscope::app
