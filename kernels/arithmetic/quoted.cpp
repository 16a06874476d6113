#include "kernels/arithmetic/quoted.h"

#include <algorithm>

namespace attoscope {
namespace {

constexpr std::size_t longest = 80;

/// True for the control characters of C0 and C1, and DEL.
bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); }

}  // namespace

std::optional<Decoded> decoded(std::string_view text, std::size_t first) {
  constexpr char32_t code_points = 0x110000;  // of Unicode
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[first + i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return Decoded{static_cast<char32_t>(lead), 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() - first < bytes) return {};
  char32_t c = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return {};
    c = (c << 6) | (byte(i) & 0x3fu);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = c >= 0xd800 && c <= 0xdfff;
  if (c < least[bytes] || c >= code_points || surrogate) return {};
  return Decoded{c, bytes};
}

std::string_view first_characters(std::string_view text, std::size_t most) {
  std::size_t size = 0;
  while (size < text.size()) {
    const std::size_t next = size + decoded(text, size).value_or(Decoded{}).bytes;
    if (next > most) break;
    size = next;
  }
  return text.substr(0, size);
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::optional<Decoded> next = decoded(text, i);
    const std::size_t bytes = next ? next->bytes : 1;
    result += next && !is_control(next->character) ? text.substr(i, bytes) : "?";
    i += bytes;
  }
  return result;
}

std::string in_quotes(std::string_view text) {
  const std::string_view shown = first_characters(text, longest);
  return std::string("'").append(printable(shown)).append(shown.size() < text.size() ? "...'" : "'");
}

std::string with_full_stop(std::string text) {
  if (!text.empty() && !text.ends_with('.')) text += '.';
  return text;
}

std::string without_full_stop(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string shown_key(std::string_view key) {
  const bool word = !key.empty() && key.size() <= longest && key.find(' ') == std::string_view::npos && printable(key) == key;
  return word ? std::string(key) : in_quotes(key);
}

}  // namespace attoscope
