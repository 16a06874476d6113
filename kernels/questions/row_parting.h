/// The place where two runs of a row part. The state after a tile (m, l and O) covers the keys that its run has seen; states of
/// the same keys are compared, whatever the tiles are.
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

/// One run of a row, all tiles.
template <class T>
struct TiledRow {
  std::vector<RowTile<T>> tiles;
  Keys visible;           ///< of the row, as stored
  int keys = 0;           ///< of the problem
  bool reversed = false;  ///< stored from the last key to the first
};
template <class T>
TiledRow<T> tiled_row(const Job<T>& job, int row, const StopSign& stop);

/// True if both take the same keys in the same tiles, in the same order.
template <class T>
bool same_tiles(const TiledRow<T>& x, const TiledRow<T>& y);

/// The first state of `other`, tile by tile, with other bits than that of `row` of the same keys. If a tile is one of both,
/// their S and P are compared, too.
template <class T>
RowParting row_parting(const TiledRow<T>& row, const TiledRow<T>& other);

}  // namespace attoscope
