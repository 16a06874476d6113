/// Numbers to text and back, the same in every locale.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>

namespace attoscope {

/// The number that `text` is, all of it; none where it is something else or out of T's range. "1e5" is no integer.
template <class T>
  requires std::integral<T> || std::floating_point<T>
std::optional<T> to_number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

/// The shortest text that reads back as x.
std::string shortest(double x);

/// 16 hexadecimal digits, and back.
std::string hex16(std::uint64_t x);
std::optional<std::uint64_t> from_hex16(std::string_view text);

/// `text` in single quotes, without control characters and no longer than a line, for a message.
std::string in_quotes(std::string_view text);

}  // namespace attoscope
