/// Numbers, roundings and masks as the text of files, options and messages, and back; the same in every locale. (Formats:
/// `name` and `parse_format`; policies: `policy_name` and `policy`.)
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/arithmetic/precision.h"
#include "kernels/arithmetic/quoted.h"  // IWYU pragma: export
#include "kernels/experiment/mask.h"

namespace attoscope {

/// Parses all of `text`, optionally in a base; none if it is no number or out of T's range. "1e5" is no integer.
template <class T, class... Base>
  requires std::integral<T> || std::floating_point<T>
std::optional<T> to_number(std::string_view text, Base... base) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base...);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

/// The shortest text that reads back as x, or x in a form of std::to_chars; for an integer all digits, optionally in a base;
/// for NaN of either sign "nan".
template <class T, class... Form>
  requires std::integral<T> || std::floating_point<T>
std::string shortest(T x, Form... form) {
  if constexpr (std::floating_point<T>)
    if (std::isnan(x)) return "nan";
  char buffer[72];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, x, form...).ptr};
}

/// x in four digits, as "0.1443" or "1.2e-05".
std::string four_digits(double x);

/// "100,000".
std::string grouped(std::int64_t x);

/// "1 row", "2 rows"; or "2 queries" if `many` names them.
std::string counted(std::int64_t count, std::string_view one, std::string_view many = {});

/// 16 hexadecimal digits, and back.
std::string hex16(std::uint64_t x);
std::optional<std::uint64_t> from_hex16(std::string_view text);

/// Texts that `parse_rounding` reads, for messages.
inline constexpr std::string_view roundings_expected = "exact, main or a format, the last two perhaps followed by /stochastic";

/// "exact", "main", "bf16", "main/stochastic" or "bf16/stochastic", and back. Throws std::invalid_argument in a sentence.
std::string rounding_text(const Rounding& rounding);
Rounding parse_rounding(std::string_view text);

/// Texts that `parse_mask` reads, for messages.
inline constexpr std::string_view masks_expected =
    "none, causal, window:W, window:LEFT:RIGHT, prefix:P, chunk:C, padding:W (causal, without the first W keys) or "
    "right_padding:W (causal, without the last W keys)";

/// "none", "causal", "window:64" and so on, and back. Throws std::invalid_argument in a sentence.
std::string mask_text(const Mask& mask);
Mask parse_mask(std::string_view text);

}  // namespace attoscope
