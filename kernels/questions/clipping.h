/// Counts of P of method a that leave the range of its format, by row and tile, computed on demand.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"

namespace attoscope {

/// Counts for every row_step-th computed row and every tile of a; three_pass is one tile. No count exceeds 65535.
struct Clipping {
  Experiment experiment;
  int tiles = 0, row_step = 1;
  std::vector<std::uint16_t> saturated;    ///< [tile][row / row_step]: P beyond the largest number of its format
  std::vector<std::uint16_t> underflowed;  ///< the same: e > 0 whose P is 0
};

/// Rows that a picture needs.
inline constexpr int clipping_rows = 256;

/// Counts over at most `most_rows` rows, evenly spread. Throws as `compute` does; empty if a is not emulated. For two_pass it
/// counts the P of the second pass, which the trace does not see.
Clipping clipping(const Experiment& experiment, int most_rows, const Options& options = {});

}  // namespace attoscope
