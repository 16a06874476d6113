/// Division of a run into launches that do not occupy a GPU for long: the rows of each, and the range of their work.
#pragma once

#include <algorithm>

#include "kernels/lanes/job.h"

namespace attoscope {

/// Counts thread blocks in rounds of one block per multiprocessor, which take as long as one block. The first launch is small;
/// the sizes of the next follow the measured time. A launch should stay below the limit; it exceeds it only if a single work
/// item of one round takes longer.
class LaunchPace {
 public:
  /// About a millisecond of double on a GPU with few units for double.
  static constexpr std::int64_t usual_first_work = 1 << 17;

  /// `held`: blocks that a multiprocessor runs at a time. `first_work`: work of the first launch, per round times rounds.
  LaunchPace(int multiprocessors, int held, float limit_ms, const WorkEstimate& estimate,
             std::int64_t first_work = usual_first_work)
      : multiprocessors_(std::max(1, multiprocessors)),
        held_(std::max(1, held)),
        limit_ms_(limit_ms),
        estimate_(estimate),
        work_(first_work) {}

  const WorkEstimate& estimate() const { return estimate_; }
  /// All work of `blocks` blocks; `holds` is true if one launch may do it.
  std::int64_t work_of(int blocks) const { return estimate_.whole * rounds(blocks); }
  bool holds(int blocks) const { return work_of(blocks) <= work_; }
  /// Work that takes a launch's target time, if `work` took `ms`.
  static std::int64_t work_in_time(double work, float ms, float limit_ms) {
    return static_cast<std::int64_t>(std::min(work * aim * limit_ms / std::max(ms, 1e-3f), 1e15)) + 1;
  }
  /// Blocks of the next slice of rows: as many as one launch can finish, or as a GPU holds at a time.
  int blocks() const {
    const std::int64_t all_the_way = work_ / estimate_.whole,
                       some_items = std::min<std::int64_t>(held_, work_ / estimate_.item);
    return static_cast<int>(std::clamp<std::int64_t>(std::max(all_the_way, some_items), 1, most_rounds)) * multiprocessors_;
  }
  /// Work per block of the next launch of `blocks` blocks.
  std::int64_t distance(int blocks) const { return std::max(estimate_.item, work_ / rounds(blocks)); }

  /// Records that a launch of `blocks` blocks, each doing `distance` of its work, took `ms`. The work per launch grows at most
  /// fourfold at a time; a launch with little to do does not reduce it.
  void took(int blocks, std::int64_t distance, float ms) {
    const double done = static_cast<double>(distance) * static_cast<double>(rounds(blocks));
    const std::int64_t wanted = work_in_time(done, ms, limit_ms_);
    work_ = ms > limit_ms_ ? std::min(work_, wanted) : std::clamp(wanted, work_, 4 * work_);
  }

 private:
  static constexpr std::int64_t most_rounds = 10000;
  /// Target time as a share of the limit: some work items take longer than others.
  static constexpr double aim = 0.5;

  std::int64_t rounds(int blocks) const { return (blocks - 1) / multiprocessors_ + 1; }

  int multiprocessors_, held_;
  float limit_ms_;
  WorkEstimate estimate_;
  std::int64_t work_;  ///< distance times rounds
};

/// One launch: rows [first, first + rows) of the rows to compute, and the range of their work.
struct LaunchPart {
  int first = 0, rows = 0, blocks = 0;
  WorkRange range;
};
/// End of a launch: work done by the row that got furthest (see PartialWork::end), and the time taken.
struct LaunchEnd {
  std::int64_t reached = 0;
  float ms = 0;
};

/// Does all work of one slice's rows in successive calls of launch(LaunchPart). Before each launch, checks `stop`; then reports
/// the number of rows done.
template <class Launch>
void compute_slice(LaunchPart part, LaunchPace& pace, const StopSign& stop, Launch launch) {
  int reported = 0;
  for (bool over = false; !over;) {
    part.range = {part.range.to, part.range.to + pace.distance(part.blocks)};
    stop.check();
    const LaunchEnd end = launch(part);
    over = end.reached <= part.range.to;
    pace.took(part.blocks, std::min(end.reached, part.range.to) - part.range.from, end.ms);
    const double share = static_cast<double>(part.range.to) / static_cast<double>(pace.estimate().whole);
    const int finished = over ? part.rows : static_cast<int>(std::min(0.99, share) * part.rows);
    stop.report_rows(static_cast<std::size_t>(std::max(0, finished - reported)));
    reported = std::max(reported, finished);
  }
}

/// Calls launch(LaunchPart) for `rows` rows, in slices of at most `most_blocks` blocks of `block_rows` rows, one part of their
/// work after another.
template <class Launch>
void in_launches(int rows, int block_rows, int most_blocks, LaunchPace pace, const StopSign& stop, Launch launch) {
  for (int first = 0; first < rows;) {
    const int blocks = std::min({pace.blocks(), most_blocks, (rows - first - 1) / block_rows + 1});
    const int here = std::min(blocks * block_rows, rows - first);
    compute_slice({first, here, blocks, {0, 0}}, pace, stop, launch);
    first += here;
  }
}

}  // namespace attoscope
