/// How much of a run one launch takes on, so that no launch holds a GPU for long: how many rows, and how far they go.
#pragma once

#include <algorithm>

#include "kernels/job.h"

namespace attoscope {

/// How far a warp has to go, counted in about fma of a row: all the way, and in its longest step, which no launch can cut.
struct Way {
  std::int64_t whole = 1, step = 1;
};

/// Counts warps in rounds of one for every multiprocessor: those of a round run in the time of one. Starts with little, then
/// follows the clock. A launch is expected to stay below the limit; only where one step of one round takes longer is it
/// exceeded.
class LaunchPace {
 public:
  /// About a millisecond of double on a GPU with few units for it.
  static constexpr std::int64_t usual_first_work = 1 << 17;

  /// `first_work`: distance times rounds of the first launch.
  LaunchPace(int multiprocessors, float limit_ms, const Way& way, std::int64_t first_work = usual_first_work)
      : multiprocessors_(std::max(1, multiprocessors)), limit_ms_(limit_ms), way_(way), work_(first_work) {}

  const Way& way() const { return way_; }
  /// Warps of the next slice of rows: as many as can go all the way in one launch, or as a GPU holds at a time.
  int warps() const {
    const std::int64_t all_the_way = work_ / way_.whole, some_steps = std::min(held_rounds, work_ / way_.step);
    return static_cast<int>(std::clamp<std::int64_t>(std::max(all_the_way, some_steps), 1, most_rounds)) * multiprocessors_;
  }
  /// How far so many warps go in the next launch.
  std::int64_t distance(int warps) const { return std::max(way_.step, work_ / rounds(warps)); }

  /// A launch in which so many warps went so far took so long. The work grows at most fourfold; a launch that had less to do
  /// than wanted shows by that how little it tells.
  void took(int warps, std::int64_t distance, float ms) {
    const double done = static_cast<double>(distance) * static_cast<double>(rounds(warps));
    const auto wanted = static_cast<std::int64_t>(std::min(done * aim * limit_ms_ / std::max(ms, 1e-3f), 1e15)) + 1;
    work_ = ms > limit_ms_ ? std::min(work_, wanted) : std::clamp(wanted, work_, 4 * work_);
  }

 private:
  /// Warps that a multiprocessor runs at a time (see attention_kernel).
  static constexpr std::int64_t held_rounds = 8, most_rounds = 10000;
  /// Of the limit, since one step takes longer than another.
  static constexpr double aim = 0.5;

  std::int64_t rounds(int warps) const { return (warps - 1) / multiprocessors_ + 1; }

  int multiprocessors_;
  float limit_ms_;
  Way way_;
  std::int64_t work_;  ///< distance times rounds
};

/// One launch: rows [first, first + rows) of those to compute, and the part of their way.
struct LaunchPart {
  int first = 0, rows = 0, warps = 0;
  Window window;
};
/// How it ended: how far the slowest of its rows went (see CutWalk::end).
struct LaunchEnd {
  std::int64_t reached = 0;
  float ms = 0;
};

/// The whole way of the rows of one slice, launch(LaunchPart) by launch; `stop` is asked before each and told of rows.
template <class Launch>
void go_slice(LaunchPart part, LaunchPace& pace, const StopSign& stop, Launch launch) {
  int told = 0;
  for (bool over = false; !over;) {
    part.window = {part.window.to, part.window.to + pace.distance(part.warps)};
    stop.check();
    const LaunchEnd end = launch(part);
    over = end.reached <= part.window.to;
    pace.took(part.warps, std::min(end.reached, part.window.to) - part.window.from, end.ms);
    const double share = static_cast<double>(part.window.to) / static_cast<double>(pace.way().whole);
    const int finished = over ? part.rows : static_cast<int>(std::min(0.99, share) * part.rows);
    stop.did(static_cast<std::size_t>(std::max(0, finished - told)));
    told = std::max(told, finished);
  }
}

/// launch(LaunchPart) for `rows` rows in slices of at most `most_warps` warps of `warp_rows` rows, one part of their way after
/// the other.
template <class Launch>
void in_launches(int rows, int warp_rows, int most_warps, LaunchPace pace, const StopSign& stop, Launch launch) {
  for (int first = 0; first < rows;) {
    const int warps = std::min({pace.warps(), most_warps, (rows - first - 1) / warp_rows + 1});
    const int here = std::min(warps * warp_rows, rows - first);
    go_slice({first, here, warps, {0, 0}}, pace, stop, launch);
    first += here;
  }
}

}  // namespace attoscope
