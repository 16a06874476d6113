/// The training code of every instruction set that this program was built with.
#pragma once

#include "kernels/train/primitives/train_lanes.h"

namespace attoscope {

namespace sse2 {
TrainLanes train_lanes();
}
#ifdef ATTOSCOPE_HAVE_X86_64_V3
namespace avx2 {
TrainLanes train_lanes();
}
namespace avx512 {
TrainLanes train_lanes();
}
#endif

}  // namespace attoscope
