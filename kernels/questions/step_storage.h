/// Q, K and V of a stepped row as its method stores them, with what their scales come to in the loop.
#pragma once

#include "kernels/questions/stepper.h"

namespace attoscope {

/// Of method a and of one row of Q; V's first `columns` columns. P is left out.
StepStorage step_storage(const Experiment& experiment, int row, int columns);

}  // namespace attoscope
