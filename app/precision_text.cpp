#include "app/precision_text.h"

#include <algorithm>
#include <stdexcept>

#include "app/numbers.h"

namespace attoscope {

std::string rounding_text(const Rounding& rounding) {
  if (rounding.kind == Rounding::Kind::exact) return "exact";
  return rounding.kind == Rounding::Kind::main ? "main" : name(rounding.format);
}

Rounding parse_rounding(std::string_view text) {
  if (text == "exact") return exact;
  return text == "main" ? to_main : to_format(parse_format(text));
}

std::string mask_text(const Mask& mask) {
  const std::string kind(mask_names[static_cast<std::size_t>(mask.kind)]);
  return mask.kind == Mask::Kind::window ? kind + ":" + std::to_string(mask.window) : kind;
}

Mask parse_mask(std::string_view text) {
  if (text == "none") return {};
  if (text == "causal") return {Mask::Kind::causal};
  constexpr std::string_view window = "window:";
  if (!text.starts_with(window))
    throw std::invalid_argument("mask " + in_quotes(text) + " is unknown, expected none, causal or window:W");
  const auto width = to_number<int>(text.substr(window.size()));
  if (width && *width >= 1) return {Mask::Kind::window, *width};
  throw std::invalid_argument("mask " + in_quotes(text) + " has no width, expected window:W with W a whole number from 1 on");
}

Algorithm parse_algorithm(std::string_view text) {
  const auto found = std::find(algorithm_names.begin(), algorithm_names.end(), text);
  if (found != algorithm_names.end()) return static_cast<Algorithm>(found - algorithm_names.begin());
  throw std::invalid_argument("algorithm " + in_quotes(text) + " is unknown, expected " + listed(algorithm_names));
}

}  // namespace attoscope
