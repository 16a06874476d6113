/// A measure's number as tables show it.
#pragma once

#include "kernels/experiment/measures.h"

namespace attoscope {

/// A cosine as how far it is from 1, never below 0 where rounding made it larger; everything else as it is.
constexpr double shown_number(const DeviationMeasure& m, double x) {
  if (m.form != DeviationMeasure::Form::from_one) return x;
  return x > 1 ? 0 : 1 - x;  // NaN stays: an output of zeros has no direction
}

}  // namespace attoscope
