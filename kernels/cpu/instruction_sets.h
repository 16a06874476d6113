/// The lane code of every instruction set that this program was built with.
#pragma once

#include "kernels/lanes/job.h"

namespace attoscope {

namespace sse2 {
InstructionSet lane_code();
}
#ifdef ATTOSCOPE_HAVE_X86_64_V3
namespace avx2 {
InstructionSet lane_code();
}
namespace avx512 {
InstructionSet lane_code();
}
#endif
#ifdef ATTOSCOPE_HAVE_SIMT
/// A GPU's lanes, run by the CPU.
namespace simt {
InstructionSet lane_code();
}
#endif

}  // namespace attoscope
