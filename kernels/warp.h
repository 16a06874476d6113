/// A GPU's threads, line by line as the host can run them too: which rows a lane of a warp has, what it runs, what it notes.
#pragma once

#include "kernels/attention_lanes.h"
#include "kernels/golden_lanes.h"
#include "kernels/launch_pace.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// The computed rows of one launch.
struct RowSlice {
  const int* rows = nullptr;  ///< rows of Q
  int count = 0;              ///< at least 1
  int first = 0;              ///< index of rows[0] among all computed rows
};

/// Warps that a slice needs with so many rows in a lane.
ATTOSCOPE_ANYWHERE inline int warps_of(int rows, int rows_of_lane) { return (rows - 1) / (warp_lanes * rows_of_lane) + 1; }

/// The rows of one lane: neighbours; none beyond the slice's end.
ATTOSCOPE_ANYWHERE inline RowBlock lane_rows(const RowSlice& slice, int rows_of_lane, int warp, int lane) {
  const int begin = (warp * warp_lanes + lane) * rows_of_lane, left = slice.count - begin;
  const int count = left < 0 ? 0 : (left < rows_of_lane ? left : rows_of_lane);
  return {slice.rows + (count > 0 ? begin : slice.count - 1), count, slice.first + begin};
}

/// What a launch on a GPU is told of its window, and what it notes of method a: rows in which m moved, and m of every
/// `row_step`-th row, per tile.
template <class T>
struct TileNotes {
  static constexpr bool keeps = false, cuts = true;
  unsigned long long* moved = nullptr;  ///< [tile]; null: nothing is noted
  float* m = nullptr;                   ///< [tile * held + row / row_step]
  int row_step = 1, held = 0;
  T score_unit = 1;
  Window part{};

  ATTOSCOPE_HD Window window() const { return part; }
  ATTOSCOPE_HD void check() const {}
  ATTOSCOPE_HD bool wanted() const { return moved != nullptr; }
  ATTOSCOPE_HD int kept_lane(const RowBlock&) const { return -1; }
  ATTOSCOPE_ANYWHERE void tile(const RowBlock& block, const TileView<T>& view) const {
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
  ATTOSCOPE_ANYWHERE static void count(unsigned long long* n) {
#ifdef __CUDA_ARCH__
    atomicAdd(n, 1ull);
#else
    std::atomic_ref(*n).fetch_add(1, std::memory_order_relaxed);
#endif
  }
};

/// What one lane of a warp does for the slice within the watch's window; `out` is the slice's, row-major. All lanes of a crew
/// call it. Says how far the way was gone: it is over if that is not beyond the window. `warp_scratch` is what the window
/// before left.
template <class T, class Watch>
ATTOSCOPE_ANYWHERE std::int64_t attention_lane(const Job<T>& job, const RowSlice& slice, int warp, int lane, const Crew& crew,
                                               const Watch& watch, void* warp_scratch, double* out) {
  constexpr int rows = Lanes<T>::rows;
  const RowBlock block = lane_rows(slice, rows, warp, lane);
  LaneArena arena(warp_scratch, lane);
  return AttentionBlock<T, Watch>(job, block, crew, watch, arena)
      .run(out + static_cast<std::ptrdiff_t>(block.first - slice.first) * job.d);
}

/// The same for three-pass softmax in double-double.
template <class Watch>
ATTOSCOPE_ANYWHERE std::int64_t dd_lane(const Job<double>& job, const RowSlice& slice, int warp, int lane, const Watch& watch,
                                        void* warp_scratch, double* out) {
  const RowBlock block = lane_rows(slice, DoubleDoubleBlock<Watch>::rows, warp, lane);
  LaneArena arena(warp_scratch, lane);
  return DoubleDoubleBlock<Watch>(job, block, watch, arena)
      .run(out + static_cast<std::ptrdiff_t>(block.first - slice.first) * job.d);
}

/// How far the rows of a job have to go.
template <class T>
Way way_of(const Job<T>& job) {
  const StepCosts<T> costs(job);
  const std::int64_t n = job.n, d = job.d,
                     tiles = job.method.algorithm == Algorithm::three_pass ? 1 : (n - 1) / job.method.block_k + 1;
  const std::int64_t passes = job.method.algorithm == Algorithm::two_pass ? 2 : 1;
  const std::int64_t key = passes * (costs.score() + costs.weight()) + costs.share() + costs.value();
  return {n * key + tiles * 8 * d, key_chunk * std::max(costs.score(), costs.value())};
}
/// The same in double-double.
inline Way dd_way_of(const Job<double>& job) {
  const std::int64_t column = DoubleDoubleBlock<TileNotes<double>>::dd_cost * job.d;
  return {2 * column * job.n, key_chunk * column};
}

/// Bytes of scratch that a warp needs.
template <class T>
std::size_t attention_warp_bytes(const Job<T>& job) {
  LaneArena arena(nullptr);
  AttentionBlock<T, TileNotes<T>> block(job, RowBlock{}, Crew{}, TileNotes<T>{}, arena);
  return arena.used();
}
inline std::size_t dd_warp_bytes(const Job<double>& job) {
  LaneArena arena(nullptr);
  DoubleDoubleBlock<TileNotes<double>> block(job, RowBlock{}, TileNotes<double>{}, arena);
  return arena.used();
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
