/// Roundings and masks as the text of files and options.
#pragma once

#include <string>
#include <string_view>

#include "kernels/experiment.h"

namespace attoscope {

/// What `parse_rounding` understands, for messages.
inline constexpr std::string_view roundings_expected = "exact, main or a format, the last two perhaps followed by /stochastic";

/// "exact", "main", "bf16", "main/stochastic" or "bf16/stochastic", and back. Throws std::invalid_argument in a sentence.
std::string rounding_text(const Rounding& rounding);
Rounding parse_rounding(std::string_view text);

/// "none", "causal" or "window:W", and back. Throws std::invalid_argument in a sentence.
std::string mask_text(const Mask& mask);
Mask parse_mask(std::string_view text);

}  // namespace attoscope
