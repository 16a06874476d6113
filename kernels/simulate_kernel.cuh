/// The kernel behind launch(), for the working type of the file that includes it. Compiled without contraction (-fmad=false):
/// + - * / are IEEE operations, rounded to nearest, subnormals kept; every fma is written out.
#pragma once

#define ATTOSCOPE_SIMT simt_cuda

#include "kernels/simulate_cuda.h"
#include "kernels/warp.h"

namespace attoscope {
namespace simt_cuda {

/// A thread block is a warp: few rows then still reach all multiprocessors, and nobody waits for another warp. Up to 8 of them
/// share a multiprocessor's registers, two for each scheduler; each has 32 sums in flight, more than fma takes to answer.
template <class T>
__global__ void __launch_bounds__(warp_lanes, 8)
    attention_kernel(const __grid_constant__ Job<T> job, RowSlice slice, TileNotes<T> notes, char* scratch,
                     std::size_t warp_bytes, double* out, unsigned long long* reached) {
  const int warp = static_cast<int>(blockIdx.x);
  const Crew crew;
  const std::int64_t end = attention_lane(job, slice, warp, crew.lane(), crew, notes, scratch + warp * warp_bytes, out);
  if (crew.lane() == 0) atomicMax(reached, static_cast<unsigned long long>(end));
}

template <class T>
WarpShape shape_of(const Job<T>& job) {
  return {warp_lanes * Lanes<T>::rows, attention_warp_bytes(job), way_of(job)};
}

template <class T>
void launch_attention(const Job<T>& job, const DeviceSlice& slice, const DeviceNotes& notes, const Stream& stream) {
  const WarpShape shape = shape_of(job);
  const TileNotes<T> noted{notes.moved, notes.m, notes.row_step, notes.held, job.score_unit, slice.window};
  attention_kernel<T><<<warps_of(slice.count, Lanes<T>::rows), warp_lanes, 0, stream.get()>>>(
      job, RowSlice{slice.rows, slice.count, slice.first}, noted, slice.scratch, shape.scratch_bytes, slice.out, slice.reached);
  check(cudaGetLastError());
}

}  // namespace simt_cuda
}  // namespace attoscope
