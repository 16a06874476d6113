/// First state in which two runs of a row differ. The state after a tile (m, l and O) covers the keys that its run has seen;
/// states after the same keys are compared, even if the tiles differ.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/questions/methods_apart.h"
#include "kernels/questions/row_tiles.h"

namespace attoscope {

/// True if x and y are the same bits, or both NaN.
template <class T>
bool same_bits_of(T x, T y) {
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}
template <class T>
bool same_numbers(const std::vector<T>& x, const std::vector<T>& y) {
  return std::ranges::equal(x, y, same_bits_of<T>);
}

/// True if both runs have the same keys in the same tiles, in the same order.
template <class T>
bool same_tiles(const RowRun<T>& x, const RowRun<T>& y);

/// Compares the states of `other`, tile by tile, with the states of `row` after the same keys, up to the first that differs.
/// Compares S and P, too, if both have the same tile.
template <class T>
RowParting row_parting(const RowRun<T>& row, const RowRun<T>& other);

}  // namespace attoscope
