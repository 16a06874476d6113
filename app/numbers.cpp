#include "app/numbers.h"

#include <array>
#include <cstdint>

namespace attoscope {

std::string shortest(double x) {
  std::array<char, 40> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x);
  return {buffer.data(), end};
}

std::string hex16(std::uint64_t x) {
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, x >>= 4) text[static_cast<std::size_t>(i)] = "0123456789abcdef"[x & 15];
  return text;
}

std::optional<std::uint64_t> from_hex16(std::string_view text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != 16 || error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 80;
  std::string result = "'";
  for (const char c : text.substr(0, longest)) result += static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
  return result + (text.size() > longest ? "...'" : "'");
}

}  // namespace attoscope
