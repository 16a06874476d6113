/// Counts P of method a outside the range of its format, by row and tile; computed on demand.
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
  std::vector<std::uint16_t> underflowed;  ///< same layout: e > 0 whose P is 0
};

/// Rows of a picture.
inline constexpr int clipping_rows = 256;

/// Counts over at most `most_rows` evenly spread rows. Empty if a is not emulated. For two_pass it counts the P of the second
/// pass, which is not traced. Throws as `compute` does.
Clipping clipping(const Experiment& experiment, int most_rows, const Options& options = {});

}  // namespace attoscope
