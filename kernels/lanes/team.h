/// The code of a GPU thread, which the host can run too: a lane's row, its team's computation, its records.
#pragma once

#ifndef __CUDA_ARCH__
#include <atomic>
#endif

#include "kernels/lanes/attention_lanes.h"
#include "kernels/lanes/golden_lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// The computed rows of one launch, at least one.
using RowSlice = RowBlock;

/// Number of rows of a team, one per lane, and number of teams for a slice.
inline constexpr int team_rows = warp_lanes;
ATTOSCOPE_HOST_DEVICE inline int teams_of(int rows) { return (rows - 1) / team_rows + 1; }

/// The row of a lane; an empty block beyond the slice's end.
ATTOSCOPE_HOST_DEVICE inline RowBlock lane_row(const RowSlice& slice, int team, int lane) {
  const int at = team * team_rows + lane;
  const bool has_row = at < slice.count;
  return {slice.rows + (has_row ? at : slice.count - 1), has_row ? 1 : 0, slice.first + at};
}

/// Observer of a launch on a GPU. Holds the launch's work range. For method a it records per tile the number of rows in which m
/// changed, and m of every `row_step`-th row. Stores the rows' final m and l.
template <class T>
struct LaunchObserver {
  static constexpr bool keeps = false, is_partial = true;
  unsigned long long* moved = nullptr;  ///< [tile]; null: nothing is recorded
  float* m = nullptr;                   ///< [tile * held + row / row_step]
  int row_step = 1, held = 0;
  T score_unit = 1;
  WorkRange range{};
  double* states = nullptr;  ///< [2 * index of the row]: m, then l; null: not stored

  ATTOSCOPE_HOST_DEVICE_INLINE WorkRange work_range() const { return range; }
  ATTOSCOPE_HOST_DEVICE_INLINE void check() const {}
  ATTOSCOPE_HOST_DEVICE_INLINE bool wanted() const { return moved != nullptr; }
  ATTOSCOPE_HOST_DEVICE_INLINE int kept_lane(const RowBlock&) const { return -1; }
  ATTOSCOPE_HOST_DEVICE void tile(const RowBlock& block, const TileView<T>& view) const {
    for (int lane = 0; lane < block.count; ++lane) {
      if (!view.sees(lane)) continue;
      if (view.moved(lane)) count(in_global(moved + view.tile));
      const int row = block.first + lane;
      if (row % row_step == 0)
        *in_global(m + static_cast<std::ptrdiff_t>(view.tile) * held + row / row_step) =
            static_cast<float>(view.m[lane * lane_stride] * score_unit);
    }
  }
  ATTOSCOPE_HOST_DEVICE void state(const RowBlock& block, const T* row_m, const T* row_l) const {
    if (states == nullptr || block.count == 0) return;
    double* const mine = in_global(states + 2 * static_cast<std::ptrdiff_t>(block.first));
    mine[0] = static_cast<double>(*row_m);
    mine[1] = static_cast<double>(*row_l);
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

/// Memory of a team: its scratch on the GPU, and the bytes of shared memory in addition to the slabs.
struct TeamMemory {
  void* scratch = nullptr;
  std::size_t tile_room = 0;
};

/// One thread's part of a team's work on the slice, within the observer's range. `out` is the slice's output, row-major. All
/// threads of the team call it. Returns the amount of work done: all of it, unless it exceeds the range's `to`. The scratch
/// must be unchanged since the previous launch.
template <class T, class Observer>
ATTOSCOPE_HOST_DEVICE std::int64_t attention_thread(const Job<T>& job, const RowSlice& slice, int team, const LaneGroup& group,
                                                    const Observer& observer, const TeamMemory& memory, double* out) {
  const RowBlock block = lane_row(slice, team, group.lane());
  LaneArena arena(memory.scratch, group, memory.tile_room);
  return AttentionBlock<T, Observer>(job, block, group, observer, arena)
      .run(out + static_cast<std::ptrdiff_t>(block.first - slice.first) * job.d_v);
}

/// `attention_thread` for three-pass softmax in double-double.
template <class Observer>
ATTOSCOPE_HOST_DEVICE std::int64_t dd_thread(const Job<double>& job, const RowSlice& slice, int team, const LaneGroup& group,
                                             const Observer& observer, void* scratch, double* out) {
  const RowBlock block = lane_row(slice, team, group.lane());
  LaneArena arena(scratch, group);
  return DoubleDoubleBlock<Observer>(job, block, observer, arena)
      .run(out + static_cast<std::ptrdiff_t>(block.first - slice.first) * job.d_v);
}

/// Work of a job's rows. If tiles are not `held`, every sweep over their keys recomputes S.
template <class T>
WorkEstimate work_of(const Job<T>& job, bool held) {
  const StepCosts<T> costs(job);
  const Algorithm algorithm = job.method.algorithm;
  const std::int64_t n = job.n, d = job.d_v, tiles = (n - 1) / tile_keys(job) + 1;
  const std::int64_t sweeps = normalises_P(algorithm) ? 2 : 1, held_scores = has_tiles(algorithm) ? sweeps : 1,
                     scores = held ? held_scores : 1 + sweeps, weights = has_tiles(algorithm) || !held ? sweeps : 1;
  const std::int64_t all = costs.score() + costs.weight() + costs.share() + costs.value();
  return {n * (scores * costs.score() + weights * costs.weight() + costs.share() + costs.value()) + tiles * 8 * d,
          key_chunk * all};
}

/// Memory that a team needs for a job, and the work of its rows.
struct TeamNeeds {
  std::size_t scratch_bytes = 0, shared_bytes = 0;
  WorkEstimate work{};
};
template <class Observer, class T>
TeamNeeds attention_needs(const Job<T>& job, int warps, std::size_t tile_room, const Observer& observer = {}) {
  LaneArena arena(warps, tile_room);
  const AttentionBlock<T, Observer> block(job, RowBlock{}, LaneGroup{}, observer, arena);
  return {arena.used(), arena.shared(), work_of(job, block.holds_tile())};
}
/// Needs of a team of one warp for softmax in double-double.
inline TeamNeeds dd_needs(const Job<double>& job) {
  using Block = DoubleDoubleBlock<LaunchObserver<double>>;
  LaneArena arena(1, 0);
  Block block(job, RowBlock{}, LaunchObserver<double>{}, arena);
  const std::int64_t number = Block::dd_cost;
  return {arena.used(), 0, {number * (job.d + job.d_v) * job.n, key_chunk * number * job.d}};
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
