/// Differences between the bits of a and b, and the first in a row: two GPUs' sums of one kernel, for example.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/compute.h"
#include "kernels/experiment/mask.h"

namespace attoscope {

/// The first tile of keys after which a row has other bits.
struct PartingTile {
  int tile = 0, tiles = 0;      ///< its place among all tiles of keys, from 0
  int first_key = 0, keys = 0;  ///< keys of it that the row sees, as they are stored
  std::string_view quantity;    ///< the first that differs, in the order of the recurrence: "S", "m", "P", "l" or "O"
};

/// Comparison of the states (m, l and O) of two runs of a row after the same keys.
struct RowParting {
  int common = 0;                        ///< states that were compared, up to and with the first that differs
  std::optional<PartingTile> parting{};  ///< of the second run; none: all of them have the same bits
  Keys seen{};                           ///< the keys of this state, in the problem's order
};

struct MethodsApart {
  std::int64_t numbers = 0, differing = 0;  ///< of O; every NaN counts as one
  int differing_rows = 0;
  double max_ulp = 0;                    ///< of a - b, in ulps of the main format as `Deviation::max_ulp`
  int row = -1, column = -1;             ///< of Q and of O: the first number that differs; -1: none does
  std::optional<PartingTile> parting{};  ///< in this row
  std::string why_no_tile{};             ///< one sentence that says why there is none though a number differs
};

/// Number of elements of the i-th computed row of an answer with other bits in a than in b; every NaN counts as one.
std::int64_t differing_in_row(const Result& answer, std::size_t i);
/// Counts the differences in all rows; no row is run again.
MethodsApart counted_apart(const Result& answer);
/// Counts them, and runs the first such row of both tile by tile. Throws as `compute` does when cancelled.
MethodsApart methods_apart(const Result& answer, const Options& options = {});

}  // namespace attoscope
