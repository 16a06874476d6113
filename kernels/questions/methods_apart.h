/// Differences between the bits of a and b, and the first difference in a row; for example, of one kernel with two GPUs' sums.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/compute.h"
#include "kernels/experiment/mask.h"

namespace attoscope {

/// The first tile of keys after which the bits of a row differ.
struct PartingTile {
  int tile = 0, tiles = 0;      ///< index among all tiles of keys, from 0
  int first_key = 0, keys = 0;  ///< keys of the tile that the row sees, in storage order
  std::string_view quantity;    ///< the first quantity that differs, in the order of the recurrence: "S", "m", "P", "l" or "O"
};

/// Comparison of the states (m, l and O) of two runs of a row after equal sets of keys.
struct RowParting {
  int common = 0;                        ///< number of states compared, including the first that differs
  std::optional<PartingTile> parting{};  ///< tile of the second run; none: all states have the same bits
  Keys seen{};                           ///< keys of that state, in the problem's order
};

struct MethodsApart {
  std::int64_t numbers = 0, differing = 0;  ///< elements of O; all NaN are equal
  int differing_rows = 0;
  double max_ulp = 0;                    ///< of a - b, in ulps of the main format, as `Deviation::max_ulp`
  int row = -1, column = -1;             ///< first differing element: row of Q, column of O; -1: none
  std::optional<PartingTile> parting{};  ///< tile of that row
  std::string why_no_tile{};             ///< one sentence: the reason why `parting` is empty although an element differs
};

/// Number of elements with different bits in a and b, in the i-th computed row of a result; all NaN are equal.
std::int64_t differing_in_row(const Result& answer, std::size_t i);
/// Counts the differences in all rows, without running any row again.
MethodsApart counted_apart(const Result& answer);
/// Counts the differences, and runs the first differing row of a and b tile by tile. Throws as `compute` does when cancelled.
MethodsApart methods_apart(const Result& answer, const Options& options = {});

}  // namespace attoscope
