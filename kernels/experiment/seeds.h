/// Experiments that draw random numbers.
#pragma once

#include "kernels/experiment/experiment.h"

namespace attoscope {

/// True if the seed changes results: something is drawn, or rounded at random.
bool depends_on_seed(const Experiment& e);

}  // namespace attoscope
