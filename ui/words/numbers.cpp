#include "ui/words/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>

namespace attoscope::ui {

std::string scientific(double x, int digits) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  if (x == 0) return "0";
  const std::string text = fmt::format("{:.{}e}", x, digits - 1);
  const auto e = text.find('e');
  return text.substr(0, e + 1) + std::to_string(std::atoi(text.c_str() + e + 1));
}

std::string signed_scientific(double x, int digits) {
  std::string text = scientific(x, digits);
  if (x > 0) text.insert(0, 1, '+');
  return text;
}

std::string times(double ratio) {
  if (!std::isfinite(ratio)) return "–";
  if (ratio >= 9999.5 || (ratio > 0 && ratio < 0.005)) return scientific(ratio, 2) + "×";
  return fmt::format("{:.{}f}×", ratio, ratio >= 99.95 ? 0 : ratio >= 9.995 ? 1 : 2);
}

void ColumnNumbers::take(double x) {
  if (!std::isfinite(x) || x == 0) return;
  least_ = std::min(least_, std::abs(x));
  most_ = std::max(most_, std::abs(x));
  whole_ = whole_ && x == std::round(x);
}

std::string ColumnNumbers::text(double x, int digits) const {
  const double least_plain = most_ < 1 ? 1e-3 : 1e-6;  // shares and log-probabilities, which reach 1, read better as decimals
  const std::string with_exponent = scientific(x, digits);
  if (!std::isfinite(x) || x == 0 || least_ < least_plain || most_ >= 1e5) return with_exponent;
  const int exponent = std::atoi(with_exponent.c_str() + with_exponent.find('e') + 1);
  return fmt::format("{:.{}f}", x, whole_ ? 0 : std::max(0, digits - 1 - exponent));
}

std::string single_number(double x, int digits) {
  ColumnNumbers column;
  column.take(x);
  return column.text(x, digits);
}

std::string compact(double x) {
  if (!std::isfinite(x)) return scientific(x);
  const double magnitude = std::abs(x);
  if (magnitude != 0 && (magnitude >= 999999.5 || magnitude < 0.0995)) {
    std::string text = scientific(x, 2);
    if (const auto zero = text.find(".0e"); zero != std::string::npos) text.erase(zero, 2);
    return text;
  }
  return fmt::format("{:.6g}", x);
}

namespace {

std::string with_unit(double x, std::initializer_list<const char*> units) {
  const char* const* unit = units.begin();
  for (; x >= 999.5 && unit + 1 != units.end(); ++unit) x /= 1000;
  return three_digits(x) + " " + *unit;
}

}  // namespace

std::string binary(std::uint64_t value, int digits) { return digits > 0 ? fmt::format("{:0{}b}", value, digits) : ""; }

BitText bits_of(const Format& f, double x) {
  const double y = round<double>(f, x);
  const std::uint64_t top = (std::uint64_t{1} << f.exponent_bits) - 1, all = (std::uint64_t{1} << f.mantissa_bits) - 1;
  std::uint64_t exponent = 0, mantissa = 0;
  if (std::isnan(y)) {
    exponent = top;
    mantissa = f.top_code_nan ? all : (std::uint64_t{1} << f.mantissa_bits) >> 1;
  } else if (std::isinf(y)) {
    exponent = top;
  } else if (y != 0) {
    int e = std::ilogb(y);
    if (e < min_exponent(f)) e = min_exponent(f) - 1;
    exponent = static_cast<std::uint64_t>(e - min_exponent(f) + 1);
    const int quantum = (exponent == 0 ? min_exponent(f) : e) - f.mantissa_bits;
    mantissa = static_cast<std::uint64_t>(std::ldexp(std::abs(y), -quantum)) & all;
  }
  return {std::signbit(y) ? "1" : "0", binary(exponent, f.exponent_bits), binary(mantissa, f.mantissa_bits),
          y == x || (std::isnan(x) && std::isnan(y))};
}

double neighbour(const Format& f, double x, bool above) {
  if (std::isnan(x)) return x;
  if (x == 0) return above ? smallest_subnormal(f) : -smallest_subnormal(f);
  const bool outward = above == (x > 0);
  if (std::isinf(x)) return outward ? x : std::copysign(largest(f), x);
  const double magnitude = std::abs(x), gap = ulp(f, x);
  if (outward) return magnitude + gap > largest(f) ? overflowed<double>(f, x < 0) : std::copysign(magnitude + gap, x);
  const bool power = std::ldexp(1.0, std::ilogb(magnitude)) == magnitude && magnitude > smallest_normal(f);
  return std::copysign(magnitude - (power ? gap / 2 : gap), x);
}

std::string in_full(double x) { return std::isfinite(x) ? shortest(x) : scientific(x); }

std::string three_digits(double x) {
  return x < 1e6 ? fmt::format("{:.{}f}", x, x < 9.995 ? 2 : x < 99.95 ? 1 : 0) : scientific(x);
}
std::string bytes_text(double bytes) { return with_unit(bytes, {"B", "kB", "MB", "GB", "TB", "PB"}); }
std::string seconds_text(double seconds) { return with_unit(seconds * 1e9, {"ns", "µs", "ms", "s"}); }

}  // namespace attoscope::ui
