/// Where P of method a leaves its format: counts by row and tile, made on demand.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/compute.h"

namespace attoscope {

/// For every row_step-th computed row and every tile of a.
struct Clipping {
  Experiment experiment;
  int tiles = 0, row_step = 1;
  std::vector<std::uint16_t> saturated;    ///< [tile][row / row_step]: P beyond the largest number of its format
  std::vector<std::uint16_t> underflowed;  ///< the same: e > 0 whose P is 0
};

/// Counts over at most `most_rows` rows, evenly spread. Throws as `compute` does; empty for a method without tiles.
Clipping clipping(const Experiment& experiment, int most_rows, const Options& options = {});

}  // namespace attoscope
