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

std::string bytes_of_base64(std::string_view text, std::string_view digits) {
  std::string bytes;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : text) {
    held = held << 6 | static_cast<std::uint32_t>(digits.find(c));
    for (bits += 6; bits >= 8; bits -= 8) bytes += static_cast<char>(held >> (bits - 8) & 255);
  }
  return bytes;
}

std::string pixel_text(const std::vector<std::int8_t>& pixels) {
  return base64({reinterpret_cast<const char*>(pixels.data()), pixels.size()}, base64_digits);
}

std::vector<std::int8_t> parse_pixels(std::string_view text, int size) {
  if (text.size() != static_cast<std::size_t>(size) / 3 * 4) throw std::invalid_argument("the wrong length");
  if (text.find_first_not_of(base64_digits) != text.npos) throw std::invalid_argument("a character that is not base64");
  const std::string bytes = bytes_of_base64(text, base64_digits);
  return {bytes.begin(), bytes.end()};
}

}  // namespace attoscope::app
