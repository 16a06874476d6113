/// Slips that give no exact output to compare with: rows that were never written, and numbers that overflowed.
#pragma once

#include <optional>

#include "kernels/slips/output_errors.h"
#include "kernels/slips/slips.h"

namespace attoscope {

/// The slip that only rows of the last, partial tile are wrong.
std::optional<Slip> tail_slip(const Experiment& experiment, const OutputErrors& errors);

/// The cause that holds in nearly all rows with NaN or infinity, and in nearly none of the others. Throws Stopped.
std::optional<Slip> overflow_slip(const Result& result, const OutputErrors& errors);

}  // namespace attoscope
