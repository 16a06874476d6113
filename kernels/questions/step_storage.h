/// Q, K and V of a stepped row as its method stores them, with the factors that their scales become in the loop.
#pragma once

#include "kernels/questions/stepper.h"

namespace attoscope {

/// Storage of method a for one row of Q; V's first `columns` columns. P is left out.
StepStorage step_storage(const Experiment& experiment, int row, int columns);

}  // namespace attoscope
