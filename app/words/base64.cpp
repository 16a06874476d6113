#include "app/words/base64.h"

#include <stdexcept>

namespace attoscope::app {

std::string base64(std::string_view bytes, std::string_view digits) {
  std::string text;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : bytes) {
    held = held << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) text += digits[held >> (bits - 6) & 63];
  }
  if (bits > 0) text += digits[held << (6 - bits) & 63];
  return text;
}

std::string pixel_text(const std::vector<std::int8_t>& pixels) {
  return base64({reinterpret_cast<const char*>(pixels.data()), pixels.size()}, base64_digits);
}

std::vector<std::int8_t> parse_pixels(std::string_view text, int size) {
  if (text.size() != static_cast<std::size_t>(size) / 3 * 4) throw std::invalid_argument("the wrong length");
  std::vector<std::int8_t> pixels;
  pixels.reserve(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t digit = base64_digits.find(text[i + j]);
      if (digit == std::string_view::npos) throw std::invalid_argument("a character that is not base64");
      bits = bits << 6 | static_cast<std::uint32_t>(digit);
    }
    for (int shift = 16; shift >= 0; shift -= 8) pixels.push_back(static_cast<std::int8_t>(bits >> shift & 255));
  }
  return pixels;
}

}  // namespace attoscope::app
