/// Backward passes that a method can have.
#pragma once

#include <string>

#include "kernels/experiment/experiment.h"

namespace attoscope {

/// One sentence without a full stop that says why `g` cannot be the backward pass of `m`, which is a or b of the experiment;
/// "": it can.
std::string why_no_gradient(const Experiment& e, const Method& m, const GradMethod& g);

/// The same of a's and b's backward pass, on or not; a's first.
std::string why_no_gradients(const Experiment& e);

}  // namespace attoscope
