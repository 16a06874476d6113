/// A row with its keys in another order, and its error.
#pragma once

#include <vector>

#include "kernels/compute.h"

namespace attoscope {

/// A run of the row with its keys in some order.
struct OrderedRow {
  std::vector<int> order;  ///< keys by their numbers in the experiment, in the order in which they are read
  double error = 0;        ///< largest |output - exact output| of a column; NaN or infinite if an output is
  int rescales = 0;        ///< moves of the running max from one tile to the next
};

inline constexpr int most_ordered_keys = 8;

/// Method a of an experiment of one row's tensors (`step_experiment`), its keys and values in this order. Throws
/// std::invalid_argument in a sentence if `order` does not name each key once.
OrderedRow row_in_order(const Experiment& experiment, std::vector<int> order);

/// The order with the largest error, found by running all of them; the first such one in the order of their numbers. Throws
/// std::invalid_argument in a sentence if there are more than `most_ordered_keys`; Stopped.
OrderedRow worst_order(const Experiment& experiment, const Cancelled& cancelled = {});

}  // namespace attoscope
