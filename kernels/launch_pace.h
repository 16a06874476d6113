/// How much of a run one launch takes on, so that no launch holds a GPU for long.
#pragma once

#include <algorithm>

namespace attoscope {

/// Counts in rounds of one warp for every multiprocessor: those of a round run in the time of one. Starts with one round, then
/// follows the clock. A launch is expected to stay below the limit; only where a single round takes longer is it exceeded.
class LaunchPace {
 public:
  LaunchPace(int multiprocessors, float limit_ms) : multiprocessors_(std::max(1, multiprocessors)), limit_ms_(limit_ms) {}

  /// Warps of the next launch.
  int warps() const { return rounds_ * multiprocessors_; }

  /// A launch of so many warps took so long. Grows at most fourfold; a rest that was smaller than wanted tells nothing.
  void took(int warps, float ms) {
    const int wanted =
        static_cast<int>(std::clamp(rounds_ * 0.8 * limit_ms_ / std::max(ms, 1e-3f), 1.0, std::min(4.0 * rounds_, 1e4)));
    if (ms > limit_ms_)
      rounds_ = std::min(rounds_, wanted);
    else if (warps == this->warps())
      rounds_ = std::max(rounds_, wanted);
  }

 private:
  int multiprocessors_, rounds_ = 1;
  float limit_ms_;
};

}  // namespace attoscope
