/// Results of a running sweep, filled by the threads that compute and read by the threads that show it.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/sweep/runner.h"
#include "app/sweep/table.h"
#include "ui/frame/sweep_answer.h"

namespace attoscope::app {

/// An axis in the form of ui::SweepTable.
ui::SweepValues values_of(const Axis& axis);

/// The answers to one sweep. Thread-safe; only `add`, `missing`, `point_at` and `table` take a lock.
class SweepLedger {
 public:
  /// Throws as `point_count`.
  explicit SweepLedger(Sweep sweep);

  const Sweep& sweep() const { return sweep_; }
  std::size_t points() const { return points_; }
  std::size_t done() const { return done_; }
  std::size_t failed() const { return failed_; }
  /// Number of changes so far: added points, and calls of `forget_failures`.
  std::size_t changes() const { return changes_; }
  /// Finished share of the work, 0 .. 1, weighted by multiply-adds if N or d is varied.
  double share() const;
  /// `share` without points from the cache.
  double computed_share() const;

  /// Records a finished point; duplicates are ignored.
  void add(SweepAnswer answer);
  /// Marks failed points as missing again.
  void forget_failures();
  /// At most `most` points without an answer, from index `first` on, ascending.
  std::vector<std::size_t> missing(std::size_t most, std::size_t first = 0) const;
  /// The combination's point with the least seed that has an answer.
  std::optional<std::size_t> point_at(const ui::SweepPlace& place) const;
  /// Table of all combinations; `rival`: the same measure of b. Updates only cells that changed since the last call.
  std::shared_ptr<ui::SweepTable> table(const Measure& measure, const std::optional<Measure>& rival);

 private:
  double weight(const PointPlace& place) const;
  ui::SweepCell cell(const std::vector<SweepAnswer>& answers, const Measure& measure, const std::optional<Measure>& rival);

  const Sweep sweep_;
  const std::size_t points_;
  const std::array<std::string, 2> methods_;
  std::array<std::vector<double>, 2> weights_;  ///< of each axis' values, relative to the smallest
  double all_ = 0;                              ///< total weight of all points
  std::atomic<std::size_t> done_{0}, failed_{0}, changes_{0};
  std::atomic<double> weight_done_{0}, weight_computed_{0};
  mutable std::mutex mutex_;
  std::vector<std::vector<SweepAnswer>> answers_;  ///< by combination
  std::vector<bool> known_;                        ///< by point
  std::vector<std::size_t> changed_;               ///< combinations with an outdated cell
  std::optional<Measure> measure_, rival_;         ///< of `cells_`
  std::vector<ui::SweepCell> cells_;
  std::vector<std::string> errors_;
  std::map<std::string, std::int32_t> error_numbers_;
};

/// Experiments of some points of the sweep: every value of each axis once, at most 64 of an axis.
std::vector<Experiment> varied_experiments(const Sweep& sweep);
/// The measure of b that is drawn next to one of a if one parameter is varied; else none.
std::optional<Measure> rival_of(const Sweep& sweep, const Measure& measure);
/// Table of these answers, with `rival_of` the measure.
std::shared_ptr<const ui::SweepTable> sweep_table(const Sweep& sweep, const Measure& measure,
                                                  std::span<const SweepAnswer> answers);

}  // namespace attoscope::app
