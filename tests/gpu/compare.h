/// Two answers to one question, bit for bit.
#pragma once

#include <string>

#include "kernels/experiment/result.h"

namespace attoscope::gpu_check {

/// What differs, named with both values: the first of digests, summaries, recurrence, rescale map; empty: nothing.
std::string difference(const Result& x, const Result& y);

/// The same of two summaries called `name`. `wasserstein` counts only where both have one.
std::string difference(const std::string& name, const Deviation& x, const Deviation& y);

}  // namespace attoscope::gpu_check
