/// Which points of a sweep are with which worker: runs of neighbours, dealt out as they are asked for.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace attoscope {

/// Belongs to one thread, or to one lock.
class PointScheduler {
 public:
  /// `points`: what is to be computed, in this order.
  PointScheduler(const std::vector<std::size_t>& points, int workers);

  /// The next run for this worker, which has given up what it did not finish of the last one; empty: nothing is left to begin,
  /// though others may still be at work.
  std::vector<std::size_t> next(int worker);
  /// True for the first answer to a point of this sweep.
  bool finished(std::size_t point);
  /// What the worker did not finish goes to others.
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
