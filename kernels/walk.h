/// How far a block of rows goes in one launch: a GPU must not be held long, so that a long way is gone in several windows.
/// Everything that lasts from one launch to the next lies in the lanes' scratch; where the way goes on is a matter of counting.
#pragma once

#include "kernels/job.h"
#include "kernels/lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Keys that are taken together: few enough that their P stays in a CPU's first-level cache while the columns of O pass by.
inline constexpr int key_chunk = 64;

/// What the steps cost a row for one key, in about fma: what rounds by bits takes a few operations more, dice many.
template <class T>
class StepCosts {
 public:
  ATTOSCOPE_HD explicit StepCosts(const Job<T>& job) : job_(job) {}

  /// q.k and S.
  ATTOSCOPE_HD std::int64_t score() const { return product(Step::qk_step) + rounding(Step::S) + 2; }
  /// e, its sum and P.
  ATTOSCOPE_HD std::int64_t weight() const {
    return 24 + rounding(Step::shifted) + rounding(Step::e) + rounding(Step::P) + rounding(Step::l_step);
  }
  /// e / l.
  ATTOSCOPE_HD std::int64_t share() const { return 8 + rounding(Step::P); }
  /// P.V.
  ATTOSCOPE_HD std::int64_t value() const { return product(Step::pv_step); }
  /// A row sum in an order of its own.
  ATTOSCOPE_HD std::int64_t ordered_sum() const { return 8 + 4 * rounding(Step::l_step); }

 private:
  ATTOSCOPE_HD std::int64_t product(Step step) const {
    return job_.d * (job_.method.order == SumOrder::sequential ? 1 + rounding(step) : 8 + rounding(step));
  }
  ATTOSCOPE_HD std::int64_t rounding(Step step) const {
    const RounderKind kind = job_[step].kind;
    if (kind == RounderKind::none) return 0;
    return kind == RounderKind::stochastic ? 64 : (kind == RounderKind::slow ? 16 : 3);
  }

  const Job<T>& job_;
};

/// Steps [first, end) of several alike.
struct Steps {
  int first = 0, end = 0;
};

/// The whole way at once, as a CPU goes it: every step is due, and nothing is counted.
class WholeWalk {
 public:
  static constexpr bool cuts = false;

  ATTOSCOPE_HD WholeWalk(const Window&, LaneArena&) {}
  ATTOSCOPE_HD void begin() const {}
  ATTOSCOPE_HD bool is_new() const { return true; }
  ATTOSCOPE_HD std::int64_t end() const { return 0; }
  ATTOSCOPE_HD bool due(std::int64_t) const { return true; }
  ATTOSCOPE_HD Steps due_of(int count, std::int64_t) const { return {0, count}; }
  ATTOSCOPE_HD int enter(int tile) const { return tile; }
  ATTOSCOPE_HD bool opens(int) const { return true; }
};

/// The steps that begin within a window. A step is done in the one launch in whose window it begins; to find that, every launch
/// counts what the steps before cost, from the last tile on that the launch before had opened.
class CutWalk {
 public:
  static constexpr bool cuts = true;

  ATTOSCOPE_HD CutWalk(const Window& window, LaneArena& arena) : window_(window), mark_(arena.take<std::int64_t>(3)) {}

  ATTOSCOPE_HD void begin() {
    if (window_.from == 0) return;
    marked_ = {mark_[0], mark_[1], mark_[2]};
  }
  /// Whether this is the first window.
  ATTOSCOPE_HD bool is_new() const { return window_.from == 0; }
  /// How far the way was gone by now: it is over if that is not beyond the window.
  ATTOSCOPE_HD std::int64_t end() {
    mark_[0] = marked_.loop;
    mark_[1] = marked_.tile;
    mark_[2] = marked_.at;
    return is_left_ ? window_.to + 1 : (at_ < window_.to ? at_ : window_.to);
  }

  /// Whether the next step, of that cost, is due.
  ATTOSCOPE_HD bool due(std::int64_t cost) { return due_of(1, cost).end > 0; }
  /// Which of the next steps are due, each of that cost.
  ATTOSCOPE_HD Steps due_of(int count, std::int64_t cost) {
    if (is_past()) return {};
    const Steps steps{before(window_.from, count, cost), before(window_.to, count, cost)};
    at_ += count * cost;
    is_left_ |= steps.end < count;
    return steps.first < steps.end ? steps : Steps{};
  }

  /// Before a loop over tiles that begins with `tile`: the tile to begin with.
  ATTOSCOPE_HD int enter(int tile) {
    ++loop_;
    if (is_past()) return std::numeric_limits<int>::max();
    if (loop_ != marked_.loop) return tile;
    at_ = marked_.at;
    return static_cast<int>(marked_.tile);
  }
  /// Before each of its tiles: whether there is anything left to do in this launch.
  ATTOSCOPE_HD bool opens(int tile) {
    if (at_ >= window_.to) {
      is_left_ = true;
      return false;
    }
    marked_ = {loop_, tile, at_};
    return true;
  }

 private:
  /// The tile last opened: in which of the loops over tiles, and where on the way.
  struct Mark {
    std::int64_t loop = 0, tile = 0, at = 0;
  };

  /// Whether this part of the way was done before the marked loop.
  ATTOSCOPE_HD bool is_past() const { return loop_ < marked_.loop; }
  /// How many of the next steps begin before `limit`.
  ATTOSCOPE_HD int before(std::int64_t limit, int count, std::int64_t cost) const {
    if (limit <= at_) return 0;
    const std::int64_t steps = (limit - at_ - 1) / cost + 1;
    return steps < count ? static_cast<int>(steps) : count;
  }

  Window window_;
  LaneArray<std::int64_t> mark_;
  Mark marked_{};
  std::int64_t loop_ = 0, at_ = 0;
  bool is_left_ = false;  ///< something for a later launch
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
