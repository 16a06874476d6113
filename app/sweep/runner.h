/// Runs a sweep's points: small ones side by side, large ones one by one on all threads.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/sweep/point_cache.h"
#include "app/sweep/sweep.h"
#include "kernels/compute.h"

namespace attoscope {

/// A point that is finished.
struct SweepAnswer {
  std::size_t index = 0;
  bool remembered = false;  ///< it was in the cache
  std::optional<PointSummary> summary;
  std::string error;   ///< one sentence where there is no summary
  double seconds = 0;  ///< that its computation took; 0 where there was none
};

struct SweepOptions {
  Cancelled cancelled{};
  PointCache* cache = nullptr;  ///< none: everything is computed
  int threads = 0;              ///< 0: all that the machine has
  std::string device = "cpu";
  std::size_t shard = 0, shards = 1;  ///< only the points whose index modulo `shards` is `shard`
  std::vector<std::size_t> only{};    ///< instead of a shard: these points; empty: no such choice
  /// Told of every point as it is finished, one at a time, from any thread.
  std::function<void(const SweepAnswer&)> finished{};
};

/// The points' answers by index; those of other shards and those that were not reached before it was cancelled are missing. A
/// point that cannot be computed (a size that the file does not have, say) has an error and stops nothing.
/// Throws std::invalid_argument where the sweep makes no sense.
std::vector<SweepAnswer> run_sweep(const Sweep& sweep, const SweepOptions& options);

}  // namespace attoscope
