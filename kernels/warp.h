/// A GPU's threads, line by line as the host can run them too: which rows a lane of a warp has, what it runs, what it notes.
#pragma once

#include "kernels/attention_lanes.h"
#include "kernels/golden_lanes.h"

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

/// What a run on a GPU notes of method a: rows in which m moved, and m of every `row_step`-th row, per tile.
template <class T>
struct TileNotes {
  static constexpr bool keeps = false;
  unsigned long long* moved = nullptr;  ///< [tile]; null: nothing is noted
  float* m = nullptr;                   ///< [tile * held + row / row_step]
  int row_step = 1, held = 0;
  T score_unit = 1;

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

/// What one lane of a warp does for the slice; `out` is the slice's, row-major. All lanes of a crew call it.
template <class T, class Watch>
ATTOSCOPE_ANYWHERE void attention_lane(const Job<T>& job, const RowSlice& slice, int warp, int lane, const Crew& crew,
                                       const Watch& watch, void* warp_scratch, double* out) {
  constexpr int rows = Lanes<T>::rows;
  const RowBlock block = lane_rows(slice, rows, warp, lane);
  LaneArena arena(warp_scratch, lane);
  AttentionBlock<T, Watch>(job, block, crew, watch, arena)
      .run(out + static_cast<std::ptrdiff_t>(block.first - slice.first) * job.d);
}

/// The same for three-pass softmax in double-double.
template <class Stop>
ATTOSCOPE_ANYWHERE void dd_lane(const Job<double>& job, const RowSlice& slice, int warp, int lane, const Stop& stop,
                                void* warp_scratch, double* out) {
  const RowBlock block = lane_rows(slice, DoubleDoubleBlock::rows, warp, lane);
  LaneArena arena(warp_scratch, lane);
  DoubleDoubleBlock(job, block, arena).run(stop, out + static_cast<std::ptrdiff_t>(block.first - slice.first) * job.d);
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
  DoubleDoubleBlock block(job, RowBlock{}, arena);
  return arena.used();
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
