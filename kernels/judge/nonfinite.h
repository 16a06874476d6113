/// Outputs that are wrong only where NaN or infinity is: of a key that the mask hides, or lost.
#pragma once

#include <optional>

#include "kernels/judge/judge.h"

namespace attoscope {

/// The slip that a NaN or an infinity of hidden keys reaches rows that do not see them, by 0 * NaN of V or by NaN - inf of the
/// scores, or that rows lose one that they see; none where any other element is wrong. `output` holds Q, K and V as the kernel
/// sees them.
std::optional<Slip> nonfinite_slip(const JudgedOutput& output, const Judged& judged);

/// The slip that rows without keys hold zeros where the problem asks for NaN; none where anything else is wrong.
std::optional<Slip> zeros_without_keys(const JudgedOutput& output, const Judged& judged);

}  // namespace attoscope
