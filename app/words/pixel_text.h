/// Small pictures as text: four signs for three pixels (base64 of RFC 4648).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope {

std::string pixel_text(const std::vector<std::int8_t>& pixels);

/// The `size` pixels, a multiple of 3, that `text` is. Throws std::invalid_argument where it is nothing of the kind.
std::vector<std::int8_t> parse_pixels(std::string_view text, int size);

}  // namespace attoscope
