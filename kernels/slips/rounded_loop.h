/// Attention of one row by an online loop over tiles of keys whose steps are rounded.
#pragma once

#include <optional>

#include "kernels/slips/slips.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {

/// An online loop over tiles of keys, and its rounding formats; none: not rounded.
struct RoundedLoop {
  int tile = 64;
  bool is_reversed = false;  ///< begins with the last tile
  std::optional<Format> S{}, P{}, l{}, O{}, alpha{};
  double factor = 1;  ///< of P before it is rounded; O is divided by it
  double lazy = 0;    ///< the max stays while a tile's max exceeds it by at most this
  bool l_of_rounded_P = false;
  double largest_P = infinity;
  double product_error = 0;  ///< largest error of a q.k, relative to |q| |k|
  double sum_error = 0;      ///< largest error of P.V per key, relative to O
};

/// Its output. If P is rounded and `product_error` is set, the slack has the effect of each P so near the middle of two numbers
/// that the error of its score may round it the other way, four standard deviations of random signs.
RoundedRow rows_of(SharedHead head, const SoftmaxVariant& right, const RoundedLoop& loop);

}  // namespace attoscope
