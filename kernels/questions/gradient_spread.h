/// Spread of dQ from run to run if its key tiles are added in any order, compared with schedules of fixed order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/backward/partial_backward.h"
#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/table.h"

namespace attoscope {

/// dQ of one order against dQ of the first.
struct OrderRun {
  std::string what;  ///< "shuffled 1", "ascending", "descending", "4 buffers"
  TileSchedule schedule{};
  std::uint64_t digest = 0;   ///< digest of dQ
  std::int64_t moved = 0;     ///< elements with other bits than in the first run
  double max_ulp = 0;         ///< largest distance of these elements, in ulps of the main format, as `Deviation::max_ulp`
  double mean_abs_error = 0;  ///< mean |error| of dQ against golden
};

/// dQ of method a under several orders of the key tiles; everything else stays the same.
struct OrderSpread {
  Experiment experiment;
  std::int64_t elements = 0;        ///< elements of dQ
  std::vector<OrderRun> shuffled;   ///< orders by consecutive seeds, as atomic additions may run; the first is the reference
  std::vector<OrderRun> schedules;  ///< ascending, descending, 1, 2, 4 and 8 buffers against the first shuffled; each run twice
  bool schedules_repeat = true;     ///< both runs of every schedule had the same bits
  std::int64_t moved = 0;           ///< elements that moved in any shuffled run
  double max_ulp = 0;               ///< largest distance between any shuffled run and the first
};
inline constexpr int spread_orders = 8;

/// Throws as `compute` does; std::invalid_argument without a backward pass.
OrderSpread order_spread(const Experiment& experiment, const Options& options = {});

/// One row per run.
Table order_spread_table(const OrderSpread& spread);

}  // namespace attoscope
