/// Roundings, masks and choices as the text of files and options.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "kernels/experiment.h"

namespace attoscope {

/// "exact", "main" or a format's name, and back. Throws std::invalid_argument in a sentence.
std::string rounding_text(const Rounding& rounding);
Rounding parse_rounding(std::string_view text);

/// "none", "causal" or "window:W", and back. Throws std::invalid_argument in a sentence.
std::string mask_text(const Mask& mask);
Mask parse_mask(std::string_view text);

/// The algorithm called `text`. Throws std::invalid_argument in a sentence.
Algorithm parse_algorithm(std::string_view text);

/// "none, causal or window"
template <std::size_t N>
std::string listed(const std::array<std::string_view, N>& names) {
  std::string text;
  for (std::size_t i = 0; i < N; ++i) text += (i == 0 ? "" : i + 1 == N ? " or " : ", ") + std::string(names[i]);
  return text;
}

}  // namespace attoscope
