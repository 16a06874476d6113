/// A row with its keys in another order, and its error.
#pragma once

#include <vector>

#include "kernels/compute.h"

namespace attoscope {

/// A run of the row with its keys in one order.
struct OrderedRow {
  std::vector<int> order;  ///< key numbers of the experiment, in reading order
  double error = 0;        ///< largest |output - exact output| over columns; NaN or infinite if an output is
  int rescales = 0;        ///< number of times that the running max moves between tiles
};

inline constexpr int most_ordered_keys = 8;

/// Runs method a of a one-row experiment (`step_experiment`) with its keys and values in this order. Throws
/// std::invalid_argument if `order` does not contain each key once.
OrderedRow row_in_order(const Experiment& experiment, std::vector<int> order);

/// Runs all orders and returns the one with the largest error, the first in lexicographic order if several have it. Throws
/// std::invalid_argument if there are more than `most_ordered_keys` keys; Stopped.
OrderedRow worst_order(const Experiment& experiment, const Cancelled& cancelled = {});

}  // namespace attoscope
