/// Q, K and V as kernels take them that read their stored scales wrongly.
#pragma once

#include <memory>
#include <vector>

#include "app/tensors/call_files.h"
#include "kernels/slips/slips.h"

namespace attoscope {

/// For each of Q, K and V of a head that has scales: these forgotten, applied twice, and read as if tokens and heads stood the
/// other way round; all of them forgotten, and those of K and V exchanged. The readings keep `files`, from which they read.
std::vector<OtherReading> wrong_scales(std::shared_ptr<const CallFiles> files, int head);

}  // namespace attoscope
