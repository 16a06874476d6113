#include "kernels/arithmetic/format.h"

#include <charconv>
#include <stdexcept>

#include "kernels/arithmetic/enum_array.h"
#include "kernels/arithmetic/quoted.h"

namespace attoscope {
namespace {

constexpr EnumArray<Overflow> overflow_names{"infinity", "saturate", "nan"};

[[noreturn]] void refuse(std::string_view text, const std::string& expected) {
  throw std::invalid_argument("format " + in_quotes(text) + " is unknown: expected " + expected);
}

/// Reads a number at the front of `text` and removes it from there; returns -1 if there is none.
int take_number(std::string_view& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || text.front() == '-') return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

Format parse_base(std::string_view base, std::string_view whole) {
  for (const NamedFormat& n : named_formats)
    if (n.name == base) return n.format;
  const std::string expected = listed(named_formats, ", ", &NamedFormat::name) + " or eXmY with X 2..11 and Y 0..52";
  std::string_view rest = base;
  if (rest.empty() || rest.front() != 'e') refuse(whole, expected);
  rest.remove_prefix(1);
  const int exponent = take_number(rest);
  if (rest.empty() || rest.front() != 'm') refuse(whole, expected);
  rest.remove_prefix(1);
  const int mantissa = take_number(rest);
  const bool fits =
      exponent >= min_exponent_bits && exponent <= max_exponent_bits && mantissa >= 0 && mantissa <= max_mantissa_bits;
  if (!rest.empty() || !fits) refuse(whole, expected);
  return {exponent, mantissa};
}

void apply_option(Format& f, std::string_view option, std::string_view whole) {
  if (option == "fn" || option == "ieee") {
    f.top_code_nan = option == "fn";
    return;
  }
  const std::optional<Overflow> overflow = overflow_names.value_of(option);
  if (!overflow) refuse(whole, "only /infinity, /saturate, /nan, /fn or /ieee after the name");
  f.overflow = *overflow;
}

}  // namespace

std::string name(const Format& f) {
  Format base{f.exponent_bits, f.mantissa_bits};
  std::string text = "e";
  text.append(std::to_string(f.exponent_bits)).append("m").append(std::to_string(f.mantissa_bits));
  for (const NamedFormat& n : named_formats) {
    if (n.format.exponent_bits != f.exponent_bits || n.format.mantissa_bits != f.mantissa_bits) continue;
    base = n.format;
    text = n.name;
  }
  if (f.top_code_nan != base.top_code_nan) text += f.top_code_nan ? "/fn" : "/ieee";
  if (f.overflow != base.overflow) text.append("/").append(overflow_names[f.overflow]);
  return text;
}

Format parse_format(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, "/");
  Format f = parse_base(parts[0], text);
  for (std::size_t i = 1; i < parts.size(); ++i) apply_option(f, parts[i], text);
  if (f.top_code_nan && f.overflow == Overflow::infinity)
    refuse(text, "/saturate or /nan, since a format whose top code is NaN has no infinity");
  return f;
}

}  // namespace attoscope
