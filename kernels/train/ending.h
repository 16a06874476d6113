/// Whether a training can go on.
#pragma once

#include <string>

#include "kernels/train/record.h"

namespace attoscope {

/// Why training cannot go on before its last step: what stopped a or b; empty: it can. Where a is bisected it goes on without a
/// as long as a suspect is left: those that live on show which piece the failure needs.
std::string ended(const TrainRecord& record);

}  // namespace attoscope
