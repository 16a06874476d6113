/// Rounding steps in words and as formulas, with their lines in the paper.
#pragma once

#include <string_view>

#include "kernels/arithmetic/precision.h"

namespace attoscope {

struct StepGuide {
  std::string_view what, formula;
  std::string_view line;  ///< line in Algorithm 1 of FlashAttention-2 (arXiv 2307.08691)
};
const StepGuide& guide_of(Step step);

}  // namespace attoscope
