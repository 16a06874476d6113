// Attention of training on a GPU: a thread block is a warp, as in kernels/simulate_kernel.cuh.
#define ATTOSCOPE_SIMT simt_cuda

#include "kernels/train/gpu_primitives.h"
#include "kernels/train/head_warps.h"

namespace attoscope {
namespace simt_cuda {
namespace {

/// Blocks start in order: those that have most to do first.
__global__ void __launch_bounds__(warp_lanes, 8) attend_kernel(const __grid_constant__ AttendTask task) {
  __shared__ double2 near[rule_bytes / sizeof(double2)];
  attend_lane(task, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.y - 1 - blockIdx.y), Crew{}, near);
}

__global__ void __launch_bounds__(warp_lanes, 8) differentiate_rows_kernel(const __grid_constant__ DifferentiateTask task) {
  __shared__ double2 near[rule_bytes / sizeof(double2)];
  differentiate_rows_lane(task, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.y - 1 - blockIdx.y), Crew{}, near);
}

__global__ void __launch_bounds__(warp_lanes, 8) differentiate_keys_kernel(const __grid_constant__ DifferentiateTask task) {
  __shared__ double2 near[rule_bytes / sizeof(double2)];
  differentiate_keys_lane(task, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), Crew{}, near);
}

}  // namespace
}  // namespace simt_cuda

HeadRoom gpu_head_room(const HeadBatch<float>& batch) { return simt_cuda::head_room(batch); }

namespace {

/// A warp for each of a part's heads and blocks.
template <class Task>
void launch(void (*kernel)(Task), const Task& task, const Stream& stream) {
  const dim3 grid(static_cast<unsigned>(task.part.count), static_cast<unsigned>(task.warps));
  kernel<<<grid, simt_cuda::warp_lanes, 0, stream.get()>>>(task);
  check(cudaGetLastError());
}

}  // namespace

void launch_attend(const AttendTask& task, const Stream& stream) { launch(simt_cuda::attend_kernel, task, stream); }
void launch_differentiate_rows(const DifferentiateTask& task, const Stream& stream) {
  launch(simt_cuda::differentiate_rows_kernel, task, stream);
}
void launch_differentiate_keys(const DifferentiateTask& task, const Stream& stream) {
  launch(simt_cuda::differentiate_keys_kernel, task, stream);
}

}  // namespace attoscope
