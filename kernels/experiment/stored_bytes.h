/// Memory of a number of Q, K or V that a method stores with scales.
#pragma once

#include <string>

#include "kernels/experiment/scaling.h"

namespace attoscope {

struct Experiment;

/// Bytes of a number of Q, K or V as method a reads it: its element and its share of a scale where a stores with scales, else
/// the main format's.
double stored_bytes(const Experiment& e, ScaledTensor t);
/// "Q 1.03, K 1.03, V 1.06": the tensors that a stores with scales; "": none.
std::string stored_bytes_text(const Experiment& e);

}  // namespace attoscope
