/// The kernel behind launch(), for the working type of the file that includes it. Compiled without contraction (-fmad=false):
/// + - * / are IEEE operations, rounded to nearest, subnormals kept; every fma is written out.
#pragma once

#define ATTOSCOPE_SIMT simt_cuda

#include "kernels/gpu/simulate_cuda.h"
#include "kernels/lanes/warp.h"

namespace attoscope {
namespace simt_cuda {

/// A thread block is a warp: even few rows are then spread over all multiprocessors, and no warp waits for another. Up to 8 of
/// them share a multiprocessor's registers, two for each scheduler; each has 32 independent sums, enough to hide fma's latency.
template <class T>
__global__ void __launch_bounds__(warp_lanes, 8)
    attention_kernel(const __grid_constant__ Job<T> job, RowSlice slice, LaunchObserver<T> notes, char* scratch,
                     std::size_t warp_bytes, double* out, unsigned long long* reached) {
  const int warp = static_cast<int>(blockIdx.x);
  const LaneGroup group;
  const std::int64_t end = attention_lane(job, slice, warp, group.lane(), group, notes, scratch + warp * warp_bytes, out);
  if (group.lane() == 0) atomicMax(reached, static_cast<unsigned long long>(end));
}

template <class T>
WarpShape shape_of(const Job<T>& job) {
  return {warp_lanes * Lanes<T>::rows, attention_warp_bytes(job), work_of(job)};
}

template <class T>
void launch_attention(const Job<T>& job, const DeviceSlice& slice, const DeviceNotes& notes, const Stream& stream) {
  const WarpShape shape = shape_of(job);
  const LaunchObserver<T> noted{notes.moved, notes.m, notes.row_step, notes.held, job.exp2.score_unit, slice.range};
  attention_kernel<T><<<warps_of(slice.count, Lanes<T>::rows), warp_lanes, 0, stream.get()>>>(
      job, RowSlice{slice.rows, slice.count, slice.first}, noted, slice.scratch, shape.scratch_bytes, slice.out, slice.reached);
  check(cudaGetLastError());
}

}  // namespace simt_cuda
}  // namespace attoscope
