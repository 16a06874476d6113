#include "kernels/experiment/text.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/experiment/setting.h"

namespace attoscope {
namespace {

constexpr std::string_view stochastically = "/stochastic", aligned_top_left = ":top-left";

}  // namespace

std::string four_digits(double x) { return shortest(x, std::chars_format::general, 4); }

std::string grouped(std::int64_t x) {
  const std::string digits = std::to_string(x);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool between = i > 0 && digits[i - 1] != '-' && (digits.size() - i) % 3 == 0;
    if (between) text += ',';
    text += digits[i];
  }
  return text;
}

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  const std::string text = std::to_string(count) + " " + std::string(count == 1 || many.empty() ? one : many);
  return count == 1 || !many.empty() ? text : text + "s";
}

std::string hex16(std::uint64_t x) {
  const std::string digits = shortest(x, 16);
  return std::string(16 - digits.size(), '0') + digits;
}

std::optional<std::uint64_t> from_hex16(std::string_view text) {
  return text.size() == 16 ? to_number<std::uint64_t>(text, 16) : std::nullopt;
}

std::string rounding_text(const Rounding& rounding) {
  if (rounding.kind == Rounding::Kind::exact) return "exact";
  const std::string nearest = rounding.kind == Rounding::Kind::main ? "main" : name(rounding.format);
  return rounding.stochastic ? nearest + std::string(stochastically) : nearest;
}

Rounding parse_rounding(std::string_view text) {
  if (text == "exact") return exact;
  const bool stochastic = text.ends_with(stochastically);
  const std::string_view nearest = text.substr(0, text.size() - (stochastic ? stochastically.size() : 0));
  if (nearest == "exact")
    throw std::invalid_argument(in_quotes(text) + " rounds nothing, expected " + std::string(roundings_expected));
  Rounding rounding = nearest == "main" ? to_main : to_format(parse_format(nearest));
  rounding.stochastic = stochastic;
  return rounding;
}

std::string mask_text(const Mask& mask) {
  std::string text(mask_names[mask.kind]);
  const bool is_two_sided = mask.kind == Mask::Kind::window && mask.right > 0;
  if (mask.has_width()) text += ":" + std::to_string(mask.window - (is_two_sided ? 1 : 0));
  return (is_two_sided ? text + ":" + std::to_string(mask.right) : text) + std::string(mask.top_left ? aligned_top_left : "");
}

Mask parse_mask(std::string_view text) {
  if (text == "none") return {};
  if (text.ends_with(aligned_top_left)) {
    const std::string_view aligned = text.substr(0, text.size() - aligned_top_left.size());
    if (aligned.ends_with(aligned_top_left))
      throw std::invalid_argument("mask " + in_quotes(text) + " says :top-left twice, expected it once");
    Mask mask = parse_mask(aligned);
    mask.top_left = true;  // without a mask, too: ALiBi counts from there
    return mask;
  }
  if (text == "causal") return {Mask::Kind::causal};
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon), numbers = text.substr(std::min(colon, text.size() - 1) + 1);
  const Mask::Kind kind = mask_names.value_of(name).value_or(Mask::Kind::none);
  if (!Mask{kind}.has_width())
    throw std::invalid_argument("mask " + in_quotes(text) + " is unknown, expected " + std::string(masks_expected) +
                                ", and :top-left after it where the first query stands at the first key");
  if (const std::size_t second = numbers.find(':'); kind == Mask::Kind::window && second != std::string_view::npos) {
    const auto left = to_number<int>(numbers.substr(0, second)), right = to_number<int>(numbers.substr(second + 1));
    if (left && right && *left >= 0 && *left < max_tile && *right >= 0 && *right < max_tile)
      return {kind, *left + 1, false, *right};
    throw std::invalid_argument("mask " + in_quotes(text) + " is no window, expected window:LEFT:RIGHT, both " +
                                whole_range_text(0, max_tile - 1));
  }
  const auto width = to_number<int>(numbers);
  if (width && *width >= 1 && *width <= max_tile) return {kind, *width};
  throw std::invalid_argument("mask " + in_quotes(text) + " has no width, expected " + std::string(name) + ":W with W " +
                              whole_range_text(1, max_tile));
}

}  // namespace attoscope
