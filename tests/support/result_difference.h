/// Compares two results of one experiment, bit for bit.
#pragma once

#include <string>

#include "kernels/experiment/result.h"

namespace attoscope::testing {

/// The first difference of digests, outputs, summaries, recurrence, rescale map, trace and gradients, with both values; empty:
/// none.
std::string difference(const Result& x, const Result& y);

/// The first difference of two summaries called `name`.
std::string difference(const std::string& name, const Deviation& x, const Deviation& y);

}  // namespace attoscope::testing
