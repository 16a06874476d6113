/// Condition under which training ends early.
#pragma once

#include <string>

#include "kernels/train/record.h"

namespace attoscope {

/// One sentence that says why training cannot continue before its last step: a or b stopped; empty: it can. If a is bisected,
/// training continues without a as long as a suspect is left: the suspects that do not diverge show which piece causes the
/// failure.
std::string ended(const TrainRecord& record);

}  // namespace attoscope
