/// How far apart the bits of a and b are, and where in a row they part: two GPUs' sums of one kernel, for example.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/compute.h"

namespace attoscope {

struct Result;

/// The first tile of keys in which two methods have other bits in one row.
struct PartingTile {
  int tile = 0, tiles = 0;      ///< its place among all tiles of keys, from 0
  int first_key = 0, keys = 0;  ///< that the row sees in it, as they are stored
  std::string_view quantity;    ///< the first that differs, in the order of the recurrence: "S", "m", "P", "l" or "O"
};

struct MethodsApart {
  std::int64_t numbers = 0, differing = 0;  ///< of O; every NaN counts as one
  int differing_rows = 0;
  double max_ulp = 0;                    ///< of a - b, in ulps of the main format as `Deviation::max_ulp`
  int row = -1, column = -1;             ///< of Q and of O: the first number that differs; -1: none does
  std::optional<PartingTile> parting{};  ///< in this row
  std::string why_no_tile{};             ///< why there is none though a number differs: one sentence
};

/// Counts the numbers of an answer in which a and b differ, and runs the first such row of both tile by tile. Throws as
/// `compute` does where it is cancelled.
MethodsApart methods_apart(const Result& answer, const Options& options = {});

}  // namespace attoscope
