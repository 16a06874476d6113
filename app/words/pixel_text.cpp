#include "app/words/pixel_text.h"

#include <stdexcept>

namespace attoscope::app {
namespace {

constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string pixel_text(const std::vector<std::int8_t>& pixels) {
  std::string text;
  text.reserve(pixels.size() / 3 * 4);
  for (std::size_t i = 0; i + 3 <= pixels.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) bits = bits << 8 | static_cast<std::uint8_t>(pixels[i + j]);
    for (int shift = 18; shift >= 0; shift -= 6) text += base64_digits[bits >> shift & 63];
  }
  return text;
}

std::vector<std::int8_t> parse_pixels(std::string_view text, int size) {
  if (text.size() != static_cast<std::size_t>(size) / 3 * 4) throw std::invalid_argument("the wrong length");
  std::vector<std::int8_t> pixels;
  pixels.reserve(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t digit = base64_digits.find(text[i + j]);
      if (digit == std::string_view::npos) throw std::invalid_argument("a strange sign");
      bits = bits << 6 | static_cast<std::uint32_t>(digit);
    }
    for (int shift = 16; shift >= 0; shift -= 8) pixels.push_back(static_cast<std::int8_t>(bits >> shift & 255));
  }
  return pixels;
}

}  // namespace attoscope::app
