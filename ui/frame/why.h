/// The error of method a, attributed to its rounding steps.
#pragma once

#include "kernels/experiment/experiment.h"
#include "kernels/questions/attribution.h"

namespace attoscope {

/// Costs of the rounding steps of a question's method a, one by one.
struct Why {
  Experiment experiment;
  Attribution attribution;
};

}  // namespace attoscope
