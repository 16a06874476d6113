/// What is known of a sweep while it runs: filled by the threads that compute, read by those that show it.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/sweep/runner.h"
#include "app/sweep/table.h"
#include "ui/frame/sweep_answer.h"

namespace attoscope {

/// The answers to one sweep. All may be called from any thread; only `add`, `missing`, `point_at` and `table` may have to wait.
class SweepLedger {
 public:
  /// Throws as `point_count` does.
  explicit SweepLedger(Sweep sweep);

  const Sweep& sweep() const { return sweep_; }
  std::size_t points() const { return points_; }
  std::size_t done() const { return done_; }
  std::size_t failed() const { return failed_; }
  /// How much of the work is done, 0 .. 1: by the multiply-adds that N and d cost, where these are varied.
  double share() const;
  /// As much of it as was not remembered but computed.
  double computed_share() const;

  /// Takes note of a point that was finished; a second answer to the same point is none.
  void add(SweepAnswer answer);
  /// The points that have no answer, at most so many, in order.
  std::vector<std::size_t> missing(std::size_t most) const;
  /// Any point of a combination that has an answer, the one of the first seed if it is there.
  std::optional<std::size_t> point_at(const SweepPlace& place) const;
  /// All combinations; `rival` is what the same number is called for b. Looks anew only at what has changed since the last
  /// call.
  std::shared_ptr<const SweepTable> table(const Measure& measure, const std::optional<Measure>& rival);

 private:
  std::size_t combination(const PointPlace& place) const;
  double weight(const PointPlace& place) const;
  SweepCell cell(const std::vector<SweepAnswer>& answers, const Measure& measure, const std::optional<Measure>& rival);

  const Sweep sweep_;
  const std::size_t points_;
  std::array<std::vector<double>, 2> weights_;  ///< of each axis' values, relative to the smallest
  double all_ = 0;                              ///< the weight of all points
  std::atomic<std::size_t> done_{0}, failed_{0};
  std::atomic<double> weight_done_{0}, weight_computed_{0};
  mutable std::mutex mutex_;
  std::vector<std::vector<SweepAnswer>> answers_;  ///< by combination
  std::vector<bool> known_;                        ///< by point
  std::vector<std::size_t> changed_;               ///< combinations whose cell is out of date
  std::optional<Measure> measure_, rival_;         ///< of `cells_`
  std::vector<SweepCell> cells_;
  std::vector<std::string> errors_;
  std::map<std::string, std::int32_t> error_numbers_;
};

}  // namespace attoscope
