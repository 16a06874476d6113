/// Compares two results of one experiment, bit for bit.
#pragma once

#include <string>

#include "kernels/experiment/result.h"

namespace attoscope::gpu_check {

/// The first difference of digests, summaries, recurrence and rescale map, with both values; empty: none.
std::string difference(const Result& x, const Result& y);

/// The first difference of two summaries called `name`. Compares `wasserstein` only if both have it.
std::string difference(const std::string& name, const Deviation& x, const Deviation& y);

}  // namespace attoscope::gpu_check
