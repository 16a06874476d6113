/// The code of a GPU's thread, which the host can run too: which rows a lane of a warp has, what it computes, what it records.
#pragma once

#include "kernels/lanes/attention_lanes.h"
#include "kernels/lanes/golden_lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// The computed rows of one launch.
struct RowSlice {
  const int* rows = nullptr;  ///< rows of Q
  int count = 0;              ///< at least 1
  int first = 0;              ///< index of rows[0] among all computed rows
};

/// Warps that a slice needs with so many rows in a lane.
ATTOSCOPE_HOST_DEVICE inline int warps_of(int rows, int rows_of_lane) { return (rows - 1) / (warp_lanes * rows_of_lane) + 1; }

/// The rows of one lane, adjacent ones; none beyond the slice's end.
ATTOSCOPE_HOST_DEVICE inline RowBlock lane_rows(const RowSlice& slice, int rows_of_lane, int warp, int lane) {
  const int begin = (warp * warp_lanes + lane) * rows_of_lane, left = slice.count - begin;
  const int count = left < 0 ? 0 : (left < rows_of_lane ? left : rows_of_lane);
  return {slice.rows + (count > 0 ? begin : slice.count - 1), count, slice.first + begin};
}

/// The observer of a launch on a GPU: it has the launch's range of work, and records for method a, per tile, in how many rows m
/// changed, and m of every `row_step`-th row.
template <class T>
struct LaunchObserver {
  static constexpr bool keeps = false, is_partial = true;
  unsigned long long* moved = nullptr;  ///< [tile]; null: nothing is recorded
  float* m = nullptr;                   ///< [tile * held + row / row_step]
  int row_step = 1, held = 0;
  T score_unit = 1;
  WorkRange range{};

  ATTOSCOPE_HOST_DEVICE_INLINE WorkRange work_range() const { return range; }
  ATTOSCOPE_HOST_DEVICE_INLINE void check() const {}
  ATTOSCOPE_HOST_DEVICE_INLINE bool wanted() const { return moved != nullptr; }
  ATTOSCOPE_HOST_DEVICE_INLINE int kept_lane(const RowBlock&) const { return -1; }
  ATTOSCOPE_HOST_DEVICE void tile(const RowBlock& block, const TileView<T>& view) const {
    for (int lane = 0; lane < block.count; ++lane) {
      if (!view.sees(lane)) continue;
      if (view.moved(lane)) count(&moved[view.tile]);
      const int row = block.first + lane;
      if (row % row_step == 0)
        m[static_cast<std::ptrdiff_t>(view.tile) * held + row / row_step] =
            static_cast<float>(view.m[lane * lane_stride] * score_unit);
    }
  }

 private:
  ATTOSCOPE_HOST_DEVICE static void count(unsigned long long* n) {
#ifdef __CUDA_ARCH__
    atomicAdd(n, 1ull);
#else
    std::atomic_ref(*n).fetch_add(1, std::memory_order_relaxed);
#endif
  }
};

/// What one lane of a warp does for the slice, within the observer's range of work; `out` is the slice's, row-major. All lanes
/// of a group call it. Returns how much is done: everything, unless that is more than the range's `to`. `warp_scratch` holds
/// what the launch before left in it.
template <class T, class Observer>
ATTOSCOPE_HOST_DEVICE std::int64_t attention_lane(const Job<T>& job, const RowSlice& slice, int warp, int lane,
                                                  const LaneGroup& group, const Observer& observer, void* warp_scratch,
                                                  double* out) {
  constexpr int rows = Lanes<T>::rows;
  const RowBlock block = lane_rows(slice, rows, warp, lane);
  LaneArena arena(warp_scratch, lane);
  return AttentionBlock<T, Observer>(job, block, group, observer, arena)
      .run(out + static_cast<std::ptrdiff_t>(block.first - slice.first) * job.d_v);
}

/// The same for three-pass softmax in double-double.
template <class Observer>
ATTOSCOPE_HOST_DEVICE std::int64_t dd_lane(const Job<double>& job, const RowSlice& slice, int warp, int lane,
                                           const Observer& observer, void* warp_scratch, double* out) {
  const RowBlock block = lane_rows(slice, DoubleDoubleBlock<Observer>::rows, warp, lane);
  LaneArena arena(warp_scratch, lane);
  return DoubleDoubleBlock<Observer>(job, block, observer, arena)
      .run(out + static_cast<std::ptrdiff_t>(block.first - slice.first) * job.d_v);
}

/// How much work the rows of a job have.
template <class T>
WorkEstimate work_of(const Job<T>& job) {
  const StepCosts<T> costs(job);
  const std::int64_t n = job.n, d = job.d_v,
                     tiles = job.method.algorithm == Algorithm::three_pass ? 1 : (n - 1) / job.method.block_k + 1;
  const std::int64_t passes = job.method.algorithm == Algorithm::two_pass ? 2 : 1;
  const std::int64_t key = passes * (costs.score() + costs.weight()) + costs.share() + costs.value();
  return {n * key + tiles * 8 * d, key_chunk * std::max(costs.score(), costs.value())};
}
/// The same in double-double.
inline WorkEstimate dd_work_of(const Job<double>& job) {
  const std::int64_t number = DoubleDoubleBlock<LaunchObserver<double>>::dd_cost;
  return {number * (job.d + job.d_v) * job.n, key_chunk * number * job.d};
}

/// Bytes of scratch that a warp needs.
template <class T>
std::size_t attention_warp_bytes(const Job<T>& job) {
  LaneArena arena(nullptr);
  AttentionBlock<T, LaunchObserver<T>> block(job, RowBlock{}, LaneGroup{}, LaunchObserver<T>{}, arena);
  return arena.used();
}
inline std::size_t dd_warp_bytes(const Job<double>& job) {
  LaneArena arena(nullptr);
  DoubleDoubleBlock<LaunchObserver<double>> block(job, RowBlock{}, LaunchObserver<double>{}, arena);
  return arena.used();
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
