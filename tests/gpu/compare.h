/// Two answers to one question, bit for bit.
#pragma once

#include <string>

#include "kernels/experiment/result.h"

namespace attoscope::gpu_check {

/// The first difference of digests, summaries, recurrence and rescale map, with both values; empty: none.
std::string difference(const Result& x, const Result& y);

/// The same of two summaries called `name`. `wasserstein` counts only if both have one.
std::string difference(const std::string& name, const Deviation& x, const Deviation& y);

}  // namespace attoscope::gpu_check
