/// Partial backward passes, shared by all questions about a backward pass.
#pragma once

#include <memory>

#include "kernels/backward/partial_backward.h"
#include "kernels/compute.h"

namespace attoscope {

/// Makes the experiment's passes, or returns the cache's last passes if they are the same. The passes use `stop`. Throws as
/// `compute` does; std::invalid_argument without a backward pass.
std::shared_ptr<const PartialPasses> gradient_passes(const Experiment& experiment, const Options& options,
                                                     const StopSign& stop);

}  // namespace attoscope
