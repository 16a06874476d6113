#include "ui/learn/live_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "ui/words/numbers.h"

namespace attoscope {
namespace {

/// The notation of a number: digits, exponent and unit.
struct Notation {
  bool plus = false, has_exponent = false;
  int digits = 0, decimals = 0;  ///< of the mantissa
  std::string_view unit;
};

Notation notation_of(std::string_view text) {
  Notation n;
  n.plus = text.starts_with('+');
  if (n.plus || text.starts_with('-')) text.remove_prefix(1);
  bool after_point = false;
  std::size_t at = 0;
  for (; at < text.size() && (text[at] == '.' || (text[at] >= '0' && text[at] <= '9')); ++at) {
    if (text[at] == '.') {
      after_point = true;
      continue;
    }
    n.digits += text[at] != '0' || n.digits > 0;
    n.decimals += after_point;
  }
  if (at < text.size() && text[at] == 'e') {
    n.has_exponent = true;
    at = std::min(text.find_first_not_of("+-0123456789", at + 1), text.size());
  }
  n.unit = text.substr(at);
  return n;
}

/// The factor that converts a value to the unit.
double factor_of(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 4> units{{{"%", 100}, {"kB", 1e-3}, {"MB", 1e-6}, {"GB", 1e-9}}};
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const auto& [name, factor] : units)
    if (unit == name) return factor;
  return 1;
}

}  // namespace

std::string live_text(std::string_view written, double value) {
  const Notation n = notation_of(written);
  value *= factor_of(n.unit);
  std::string text = n.has_exponent || !std::isfinite(value) ? scientific(value, std::max(1, n.digits))
                                                             : fmt::format("{:.{}f}", value, n.decimals);
  if (n.plus && value > 0) text = fmt::format("+{}", text);
  return text.append(n.unit);
}

}  // namespace attoscope
