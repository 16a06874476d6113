/// The lane code for one head: compiled once for each instruction set, chosen by kernels/train/head/head_cpu.cpp.
#pragma once

#include <cstddef>
#include <string_view>

#include "kernels/train/head/head.h"

namespace attoscope {

/// Functions for one head; `place` is sequence * heads + head.
template <class T>
struct HeadLanes {
  std::size_t (*scratch)(const HeadRule<T>&) = nullptr;                      ///< bytes that a thread needs for either
  void (*forward)(const HeadBatch<T>&, int place, void* scratch) = nullptr;  ///< scratch is 64-byte aligned
  void (*backward)(const HeadGradient<T>&, int place, void* scratch) = nullptr;
};

struct HeadCode {
  HeadLanes<float> single;
  HeadLanes<double> twice;
  /// The statistics of one head of one sequence; `truth` computes such a head exactly.
  HeadStatistics (*statistics)(const HeadGradient<float>&, int place, const Job<double>& truth) = nullptr;
};

/// The code of the instruction set that `instruction_set(isa)` names.
HeadCode head_code(std::string_view isa);

namespace sse2 {
HeadCode head_code();
}
#ifdef ATTOSCOPE_HAVE_X86_64_V3
namespace avx2 {
HeadCode head_code();
}
namespace avx512 {
HeadCode head_code();
}
#endif
#ifdef ATTOSCOPE_HAVE_SIMT
/// A GPU's lanes, run by the CPU.
namespace simt {
HeadCode head_code();
}
#endif

}  // namespace attoscope
