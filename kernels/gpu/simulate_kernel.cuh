/// The kernel of launch(), for the working type of the including file. Compiled without contraction (-fmad=false): + - * / are
/// IEEE operations, rounded to nearest, with subnormals; every fma is explicit.
#pragma once

#define ATTOSCOPE_SIMT simt_cuda

#include "kernels/gpu/simulate_cuda.h"
#include "kernels/lanes/team.h"

namespace attoscope {
namespace simt_cuda {

/// Thread blocks of eight warps; a multiprocessor runs two at a time: 128 registers per thread.
inline constexpr int blocks_at_a_time = 2;

template <class T>
__global__ void __launch_bounds__(team_threads, blocks_at_a_time)
    attention_kernel(const __grid_constant__ Job<T> job, const RowSlice slice, const LaunchObserver<T> notes, char* scratch,
                     std::size_t scratch_bytes, std::size_t tile_room, double* out, unsigned long long* reached) {
  const int team = static_cast<int>(blockIdx.x);
  const LaneGroup group;
  const TeamMemory memory{scratch + team * scratch_bytes, tile_room};
  const std::int64_t end = attention_thread(job, slice, team, group, notes, memory, out);
  if (group.thread() == 0) atomicMax(reached, static_cast<unsigned long long>(end));
}

template <class T>
BlockShape shape_of(const Job<T>& job) {
  const int shared = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  BlockShape shape{.rows = team_rows, .tile_room = static_cast<std::size_t>(shared) - staged_bytes};
  const TeamNeeds needs = attention_needs<LaunchObserver<T>>(job, team_warps, shape.tile_room);
  shape.scratch_bytes = needs.scratch_bytes;
  shape.shared_bytes = needs.shared_bytes;
  shape.work = needs.work;
  check(cudaFuncSetAttribute(attention_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shape.shared_bytes)));
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&shape.held, attention_kernel<T>, team_threads, shape.shared_bytes));
  return shape;
}

template <class T>
void launch_attention(const Job<T>& job, const BlockShape& shape, const DeviceSlice& slice, const DeviceNotes& notes,
                      const Stream& stream) {
  const LaunchObserver<T> noted{notes.moved,         notes.m,     notes.row_step, notes.held,
                                job.exp2.score_unit, slice.range, notes.states};
  attention_kernel<T><<<static_cast<unsigned>(teams_of(slice.count)), team_threads, shape.shared_bytes, stream.get()>>>(
      job, RowSlice(slice), noted, slice.scratch, shape.scratch_bytes, shape.tile_room, slice.out, slice.reached);
  check(cudaGetLastError());
}

}  // namespace simt_cuda
}  // namespace attoscope
