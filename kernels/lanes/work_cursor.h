/// The part of a block's work that one launch does. A GPU must not be occupied for long: long work is divided into launches,
/// each with a WorkRange. All state that persists between launches is in the lanes' scratch; a launch finds its start by adding
/// up the costs of the steps.
#pragma once

#include "kernels/lanes/job.h"
#include "kernels/lanes/lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Number of keys that are processed together: few enough to keep their P in a CPU's first-level cache while the columns of O
/// are computed one after another.
inline constexpr int key_chunk = 64;

/// Costs of the steps for one row and one key, in units of about one fma. Rounding by bits adds a few operations, stochastic
/// rounding many.
template <class T>
class StepCosts {
 public:
  ATTOSCOPE_HOST_DEVICE_INLINE explicit StepCosts(const Job<T>& job) : job_(job) {}

  /// Cost of q.k and S.
  ATTOSCOPE_HOST_DEVICE_INLINE std::int64_t score() const { return product(Step::qk_step) + rounding(Step::S) + 2; }
  /// Cost of e, its sum and P.
  ATTOSCOPE_HOST_DEVICE_INLINE std::int64_t weight() const {
    return 24 + rounding(Step::shifted) + rounding(Step::e) + rounding(Step::P) + rounding(Step::l_step);
  }
  /// Cost of e / l.
  ATTOSCOPE_HOST_DEVICE_INLINE std::int64_t share() const { return 8 + rounding(Step::P); }
  /// Cost of P.V.
  ATTOSCOPE_HOST_DEVICE_INLINE std::int64_t value() const { return product(Step::pv_step); }
  /// Cost of a row sum in an order other than sequential.
  ATTOSCOPE_HOST_DEVICE_INLINE std::int64_t ordered_sum() const { return 8 + 4 * rounding(Step::l_step); }

 private:
  ATTOSCOPE_HOST_DEVICE_INLINE std::int64_t product(Step step) const {
    const bool sequential = job_.method.order == SumOrder::sequential;
    const Accumulator accumulator = step == Step::qk_step ? job_.qk_sum.accumulator : job_.pv_sum.accumulator;
    const int sum = accumulator == Accumulator::f64 ? 8 : 6, numbers = step == Step::qk_step ? job_.d : job_.d_v;
    return numbers * (accumulator != Accumulator::fma ? sum : (sequential ? 1 : 8) + rounding(step));
  }
  ATTOSCOPE_HOST_DEVICE_INLINE std::int64_t rounding(Step step) const {
    const RounderKind kind = job_[step].kind;
    if (kind == RounderKind::none) return 0;
    return kind == RounderKind::stochastic ? 64 : (kind == RounderKind::slow ? 16 : 3);
  }

  const Job<T>& job_;
};

/// Work items [first, end) of a series of equal items.
struct DueItems {
  int first = 0, end = 0;
};

/// All of the work at once, as a CPU does it: every item is due, and no costs are counted.
class WholeWork {
 public:
  static constexpr bool is_partial = false;

  ATTOSCOPE_HOST_DEVICE_INLINE WholeWork(const WorkRange&, LaneArena&) {}
  ATTOSCOPE_HOST_DEVICE_INLINE void begin() const {}
  ATTOSCOPE_HOST_DEVICE_INLINE bool is_new() const { return true; }
  ATTOSCOPE_HOST_DEVICE_INLINE std::int64_t end() const { return 0; }
  ATTOSCOPE_HOST_DEVICE_INLINE bool due(std::int64_t) const { return true; }
  ATTOSCOPE_HOST_DEVICE_INLINE DueItems due_of(int count, std::int64_t) const { return {0, count}; }
  ATTOSCOPE_HOST_DEVICE_INLINE int first_tile(int tile) const { return tile; }
  ATTOSCOPE_HOST_DEVICE_INLINE bool opens(int) const { return true; }
  ATTOSCOPE_HOST_DEVICE_INLINE bool goes_on() const { return true; }
};

/// The work items that begin within one range. An item is done by the launch in whose range it begins. A launch finds them by
/// adding up the costs of all items since the last tile begun by the previous launch.
class PartialWork {
 public:
  static constexpr bool is_partial = true;

  ATTOSCOPE_HOST_DEVICE_INLINE PartialWork(const WorkRange& range, LaneArena& arena)
      : range_(range), saved_(arena.take_own<std::int64_t>(3)) {}

  ATTOSCOPE_HOST_DEVICE_INLINE void begin() {
    if (range_.from == 0) return;
    mark_ = {saved_[0], saved_[1], saved_[2]};
  }
  /// True in the first launch.
  ATTOSCOPE_HOST_DEVICE_INLINE bool is_new() const { return range_.from == 0; }
  /// Amount of work done so far; above the range's `to` if work is left for another launch.
  ATTOSCOPE_HOST_DEVICE_INLINE std::int64_t end() {
    saved_[0] = mark_.loop;
    saved_[1] = mark_.tile;
    saved_[2] = mark_.at;
    return is_left_ ? range_.to + 1 : (at_ < range_.to ? at_ : range_.to);
  }

  /// True if the next item, of this cost, is due.
  ATTOSCOPE_HOST_DEVICE_INLINE bool due(std::int64_t cost) { return due_of(1, cost).end > 0; }
  /// The due items among the next `count` items of this cost.
  ATTOSCOPE_HOST_DEVICE_INLINE DueItems due_of(int count, std::int64_t cost) {
    if (is_past()) return {};
    const DueItems items{before(range_.from, count, cost), before(range_.to, count, cost)};
    at_ += count * cost;
    is_left_ |= items.end < count;
    return items.first < items.end ? items : DueItems{};
  }

  /// Called before a loop over tiles that starts at `tile`; returns the tile to start from in this launch.
  ATTOSCOPE_HOST_DEVICE_INLINE int first_tile(int tile) {
    ++loop_;
    if (is_past()) return std::numeric_limits<int>::max();
    if (loop_ != mark_.loop) return tile;
    at_ = mark_.at;
    return static_cast<int>(mark_.tile);
  }
  /// Called before each tile of the loop; false: this launch has nothing left to do.
  ATTOSCOPE_HOST_DEVICE_INLINE bool opens(int tile) {
    if (!goes_on()) return false;
    mark_ = {loop_, tile, at_};
    return true;
  }
  /// Called if more items follow; false: none of them is due in this launch, and earlier items may be unfinished.
  ATTOSCOPE_HOST_DEVICE_INLINE bool goes_on() {
    is_left_ |= at_ >= range_.to;
    return at_ < range_.to;
  }

 private:
  /// The latest tile begun: index of its loop over tiles, and the cost of all items before it.
  struct Mark {
    std::int64_t loop = 0, tile = 0, at = 0;
  };

  /// True if earlier launches did these items: they precede the marked loop.
  ATTOSCOPE_HOST_DEVICE_INLINE bool is_past() const { return loop_ < mark_.loop; }
  /// Number of the next items that begin before `limit`.
  ATTOSCOPE_HOST_DEVICE_INLINE int before(std::int64_t limit, int count, std::int64_t cost) const {
    if (limit <= at_) return 0;
    const std::int64_t items = (limit - at_ - 1) / cost + 1;
    return items < count ? static_cast<int>(items) : count;
  }

  WorkRange range_;
  LaneArray<std::int64_t> saved_;  ///< the mark, kept between launches
  Mark mark_{};
  std::int64_t loop_ = 0, at_ = 0;
  bool is_left_ = false;  ///< true if work is left for a later launch
};

/// The cursor type of the observer.
template <class Observer>
using WorkCursor = std::conditional_t<Observer::is_partial, PartialWork, WholeWork>;

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
