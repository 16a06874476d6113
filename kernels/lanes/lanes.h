/// Lanes for the instruction set of this translation unit. All types and functions are in a namespace named after the
/// instruction set, to prevent the linker from mixing them. With ATTOSCOPE_RECORDS, SIMT lanes log every rounding.
#pragma once

#include "kernels/arithmetic/random.h"
#include "kernels/arithmetic/rounders.h"

#if defined(ATTOSCOPE_SIMT)
#define ATTOSCOPE_ISA ATTOSCOPE_SIMT  // the including file chooses the name
#include "kernels/lanes/simt_lanes.h"
#elif defined(__AVX512F__)
#define ATTOSCOPE_ISA avx512
#include "kernels/lanes/vector_lanes.h"
#elif defined(__AVX2__)
#define ATTOSCOPE_ISA avx2
#include "kernels/lanes/vector_lanes.h"
#else
#define ATTOSCOPE_ISA sse2
#include "kernels/lanes/vector_lanes.h"
#endif
