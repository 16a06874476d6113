/// Numbers in ascending order, for Wasserstein distances.
#pragma once

#include <vector>

#include "kernels/stop_sign.h"

namespace attoscope {

/// x sorted ascending by radix (no NaN in x). `as_float` says that every value is a float, which halves the work.
std::vector<double> sorted_values(const std::vector<double>& x, bool as_float, const StopSign& stop = {});

}  // namespace attoscope
