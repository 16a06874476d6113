/// Q, K and V as read by kernels that use their stored scales wrongly.
#pragma once

#include <memory>
#include <vector>

#include "app/tensors/call_files.h"
#include "kernels/slips/slips.h"

namespace attoscope {

/// For each of Q, K and V of a head with scales: its scales forgotten, applied twice, and read with tokens and heads exchanged;
/// all scales forgotten; those of K and V exchanged. The readings share `files`, from which they read.
std::vector<OtherReading> wrong_scales(std::shared_ptr<const CallFiles> files, int head);

}  // namespace attoscope
