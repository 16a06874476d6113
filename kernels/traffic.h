/// Bytes between HBM and on-chip memory, counted from the loops of each algorithm.
#pragma once

#include "kernels/result.h"

namespace attoscope {

/// Traffic of method a's tiles on the experiment's problem, all query rows; element size is the main format's.
/// Algorithm 0 writes S and P out; FlashAttention-1 loops over K, V outside (arXiv 2205.14135, Algorithm 1), FlashAttention-2
/// over Q outside (arXiv 2307.08691, Algorithm 1). Wholly masked tiles move nothing.
Traffic traffic(const Experiment& e);

/// FlashAttention-1's tile sizes for M on-chip elements: Bc = ceil(M / 4d), Br = min(Bc, d).
struct TileSizes {
  int block_q = 1, block_k = 1;
};
TileSizes tiles_for_memory(double on_chip_elements, int d);

}  // namespace attoscope
