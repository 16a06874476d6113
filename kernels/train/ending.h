/// Whether training can continue.
#pragma once

#include <string>

#include "kernels/train/record.h"

namespace attoscope {

/// Why training cannot continue before its last step: what stopped a or b; empty: it can. Where a is bisected, it continues
/// without a as long as a suspect is left: the suspects that do not diverge show which piece causes the failure.
std::string ended(const TrainRecord& record);

}  // namespace attoscope
