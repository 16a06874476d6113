/// The model code of every instruction set that this program was built with.
#pragma once

#include "kernels/model/model_lanes.h"

namespace attoscope {

struct ModelSet {
  ModelLanes<float> in_float;
  ModelLanes<double> in_double;
  LogitLanes logits;
};

namespace sse2 {
ModelSet model_set();
}
#ifdef ATTOSCOPE_HAVE_X86_64_V3
namespace avx2 {
ModelSet model_set();
}
namespace avx512 {
ModelSet model_set();
}
#endif

}  // namespace attoscope
