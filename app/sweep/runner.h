/// Runs a sweep's points: small ones side by side, large ones one by one on all threads.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/sweep/point_cache.h"
#include "app/sweep/sweep.h"
#include "kernels/compute.h"

namespace attoscope::app {

/// The answer to a point.
struct SweepAnswer {
  std::size_t index = 0;
  bool remembered = false;  ///< from the cache
  std::optional<PointSummary> summary;
  std::string error;   ///< one sentence without a summary
  double seconds = 0;  ///< time of the computation; 0 without one
};

struct SweepOptions {
  Cancelled cancelled{};
  PointCache* cache = nullptr;  ///< null: compute everything
  int threads = 0;              ///< 0: all of the machine
  std::string device = "cpu";
  std::size_t shard = 0, shards = 1;  ///< only points whose index modulo `shards` is `shard`
  std::vector<std::size_t> only{};    ///< only these points, instead of a shard; empty: no restriction
  /// Called for every finished point, from any thread, one call at a time.
  std::function<void(const SweepAnswer&)> finished{};
};

/// Answers by index; points of other shards, and points not reached before a cancellation, are missing. A point that cannot be
/// computed (such as a size that the file does not have) has an error and stops nothing. Throws std::invalid_argument if the
/// sweep is invalid.
std::vector<SweepAnswer> run_sweep(const Sweep& sweep, const SweepOptions& options);

}  // namespace attoscope::app
