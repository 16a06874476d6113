/// The recurrence as it ran: of one row tile by tile, and how often the running max of all rows moved.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace attoscope {

/// One tile of the traced row; `max_used`, `l`, `o_norm` are the state after the tile.
struct TraceTile {
  int tile = 0;         ///< index of the tile, from key 0 on
  double max_true = 0;  ///< largest score so far
  double max_used = 0;  ///< m, which exp subtracts
  double alpha = 1;     ///< exp(m_old - m_new); 1 on the row's first tile
  double l = 0;         ///< running row sum
  double o_norm = 0;    ///< Euclidean norm of the running O
  double p_max = 0;     ///< largest P of the tile; NaN if one is
  int saturated = 0;    ///< P beyond the largest number of its format
  int underflowed = 0;  ///< e > 0 whose P is 0
  int ties = 0;         ///< keys whose score equals the max in use, beyond the first such key of the row so far
  bool moved = false;   ///< m changed, and it was not the row's first tile
  double error = 0;     ///< max |O/l - golden of the same keys| if the loop ended here
};

struct Trace {
  int row = 0;                   ///< of Q
  std::vector<TraceTile> tiles;  ///< of method a; only tiles in which the row sees a key
};

/// Number of times that the running max of method a moved, over the computed rows.
struct Rescales {
  int tiles = 0;                          ///< T = ceil(N / block_k)
  double nominal = 0;                     ///< mean over rows of (its tiles - 1): the cost of unconditional rescales
  double effective_mean = 0;              ///< mean over rows of the tiles in which m moved
  double expected = 0;                    ///< mean over rows of H_T - 1, for exchangeable scores
  std::vector<std::int64_t> per_tile;     ///< rows in which m moved at this tile
  std::vector<double> expected_per_tile;  ///< sum over rows of 1/t, t the row's own count of tiles so far (0 for t = 1)
  std::vector<std::array<float, 5>>
      max_quantiles;  ///< 5, 25, 50, 75, 95 % of m over (256 of) the rows, per tile; NaN if no row has the tile
};

/// m after every tile of (a sample of) the rows: the rescale map. Method a.
struct RescaleMap {
  int tiles = 0;
  int row_step = 1;      ///< every row_step-th computed row is held
  std::vector<float> m;  ///< [tile][row / row_step]; NaN where the row has no key in the tile
};

}  // namespace attoscope
