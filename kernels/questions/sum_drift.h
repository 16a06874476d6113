/// Error of the accumulator of P.V in a GPU's tensor cores over many keys, with nothing else rounded.
#pragma once

#include <cstdint>

#include "kernels/arithmetic/accumulator.h"
#include "kernels/compute.h"

namespace attoscope {

/// Rows of attention with standard normal scores and normal V: one column of V, 16 rows. P is 2^8 exp(S - max), as
/// FlashAttention-3 lifts it for 8-bit formats; P and V are rounded to the format.
struct SumDrift {
  TensorCore gpu = TensorCore::h100;
  Format format = e4m3;
  int n = 4096;       ///< keys
  int flush = 0;      ///< adds the accumulator to an fp32 sum and resets it after so many tiles of 128 keys; 0: never
  double mean = 0.5;  ///< mean of V; its standard deviation is 1
  std::uint64_t seed = 1;
};
inline constexpr int drift_rows = 16, drift_tile = 128;

/// Mean |error| of the sums of P.V over their mean size, compared with the exact sums of the same rounded P and V. Throws
/// std::invalid_argument if the GPU has no such products, Stopped when cancelled.
double sum_drift(const SumDrift& question, const Cancelled& cancelled = {});

}  // namespace attoscope
