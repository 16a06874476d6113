/// What each rounding step is: in words, as a formula, and where the paper has it.
#pragma once

#include <string_view>

#include "kernels/arithmetic/precision.h"

namespace attoscope {

struct StepGuide {
  std::string_view what, formula;
  std::string_view line;  ///< of FlashAttention-2 (arXiv 2307.08691), Algorithm 1
};
const StepGuide& guide_of(Step step);

}  // namespace attoscope
