/// Numbers, roundings, masks and tables as text, from kernels/experiment.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/experiment/csv_text.h"  // IWYU pragma: export
#include "kernels/experiment/text.h"      // IWYU pragma: export

namespace attoscope::app {

/// The numbers to digest: NaN counts as one value, whatever its bits.
template <class Number>
std::vector<Number> with_one_nan(std::vector<Number> numbers) {
  for (Number& x : numbers)
    if (std::isnan(x)) x = std::numeric_limits<Number>::quiet_NaN();
  return numbers;
}

}  // namespace attoscope::app
