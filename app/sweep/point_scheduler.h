/// Deals the points of a sweep to workers, in runs of neighbours.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace attoscope {

/// Not thread-safe.
class PointScheduler {
 public:
  /// `points`: to be computed, in this order.
  PointScheduler(const std::vector<std::size_t>& points, int workers);

  /// The next run for this worker; unfinished points of its last run return to the queue. Empty: nothing is waiting, though
  /// other workers may still compute.
  std::vector<std::size_t> next(int worker);
  /// Records an answer; true if it is the first one for a point of this sweep.
  bool finished(std::size_t point);
  /// Returns the worker's unfinished points to the queue.
  void lost(int worker);
  /// True once every point has an answer.
  bool complete() const { return unfinished_ == 0; }

 private:
  std::deque<std::size_t> waiting_;
  std::vector<std::vector<std::size_t>> with_;  ///< by worker
  std::vector<bool> finished_;                  ///< by point
  std::size_t unfinished_, longest_;
};

}  // namespace attoscope
