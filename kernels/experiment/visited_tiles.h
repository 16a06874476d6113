/// The tiles of a loop over queries and keys that the mask does not skip.
#pragma once

#include <cstdint>

namespace attoscope {

struct Problem;

/// Tiles (of `rows` queries and `keys` keys) that hold a visible pair, with their rows.
struct VisitedTiles {
  std::int64_t tiles = 0, visited = 0;
  double query_rows = 0;  ///< rows of Q, summed over the visited tiles
  double key_rows = 0;    ///< rows of K, summed over the visited tiles
};

/// Counts the tiles; with reversed keys they start at the last key.
VisitedTiles visited_tiles(const Problem& p, int rows, int keys, bool reversed);

}  // namespace attoscope
