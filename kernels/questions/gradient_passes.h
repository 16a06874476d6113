/// The passes in parts that the questions of a backward pass ask.
#pragma once

#include <memory>

#include "kernels/backward/partial_backward.h"
#include "kernels/compute.h"

namespace attoscope {

/// Makes the experiment's passes, or takes those of the cache's last question where they are the same. Throws as `compute`
/// does, and std::invalid_argument without a backward pass. They follow `stop`.
std::shared_ptr<const PartialPasses> gradient_passes(const Experiment& experiment, const Options& options,
                                                     const StopSign& stop);

}  // namespace attoscope
