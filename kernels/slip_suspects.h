/// The usual slips, each as the output that it would give.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/slips.h"

namespace attoscope {

/// Writes the d values that `row` of Q would have; NaN where the row would see no key; false where that cannot be told.
using ExpectedRow = std::function<bool(int row, double* out)>;

struct Suspect {
  Slip::Kind kind = Slip::Kind::scale;
  std::string text;
  std::function<ExpectedRow()> begin;  ///< may take memory and time; the function may be called from many threads
  std::optional<Problem> problem{};    ///< that has this slip's output as its truth, where there is one
};

/// Tile sizes that a kernel may have had: the rival's, and powers of two from 16 to 256, all below n.
std::vector<int> likely_tiles(const Experiment& experiment);

/// Slips of the arithmetic, the simplest first.
std::vector<Suspect> arithmetic_suspects(const Result& result, const OtherHeads& heads);

/// Slips of the output's layout: rows or columns of the truth in other places, found by looking for each row of `output` (and
/// each column) among the truth's. `rows` (indices of rows of the matrices) tells which to look at; all rows must be there.
std::vector<Suspect> layout_suspects(const Result& result, const Matrix& output, std::span<const int> rows,
                                     const Cancelled& cancelled);

}  // namespace attoscope
