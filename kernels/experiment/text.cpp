#include "kernels/experiment/text.h"

#include <stdexcept>

#include "kernels/experiment/setting.h"

namespace attoscope {
namespace {

constexpr std::string_view stochastically = "/stochastic", aligned_top_left = ":top-left";

}  // namespace

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
  const std::string kind(mask_names[static_cast<std::size_t>(mask.kind)]);
  return (mask.has_width() ? kind + ":" + std::to_string(mask.window) : kind) +
         std::string(mask.top_left ? aligned_top_left : "");
}

Mask parse_mask(std::string_view text) {
  if (text == "none") return {};
  if (text.ends_with(aligned_top_left)) {
    Mask mask = parse_mask(text.substr(0, text.size() - aligned_top_left.size()));
    if (mask.top_left) throw std::invalid_argument("mask " + in_quotes(text) + " says :top-left twice, expected it once");
    mask.top_left = true;  // without a mask, too: ALiBi counts from there
    return mask;
  }
  if (text == "causal") return {Mask::Kind::causal};
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  if (name != "window" && name != "padding")
    throw std::invalid_argument("mask " + in_quotes(text) +
                                " is unknown, expected none, causal, window:W or padding:W, and :top-left after it where the "
                                "first query stands at the first key");
  const auto width = colon == std::string_view::npos ? std::nullopt : to_number<int>(text.substr(colon + 1));
  if (width && *width >= 1 && *width <= max_tile) return {name == "window" ? Mask::Kind::window : Mask::Kind::padding, *width};
  throw std::invalid_argument("mask " + in_quotes(text) + " has no width, expected " + std::string(name) + ":W with W " +
                              whole_range_text(1, max_tile));
}

}  // namespace attoscope
