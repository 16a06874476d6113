// Attention of training on a GPU: forward in thread blocks of eight warps, as in kernels/gpu/simulate_kernel.cuh, backward in
// blocks of one.
#define ATTOSCOPE_SIMT simt_cuda

#include "kernels/train/head/head_warps.h"
#include "kernels/train/primitives/gpu_primitives.h"

namespace attoscope {
namespace simt_cuda {
namespace {

/// Blocks start in order: those with most work first.
__global__ void __launch_bounds__(team_threads, 2) attend_kernel(const __grid_constant__ AttendTask task) {
  __shared__ double2 shared[rule_bytes / sizeof(double2)];
  attend_thread(task, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.y - 1 - blockIdx.y), LaneGroup{}, shared);
}

__global__ void __launch_bounds__(warp_lanes, 8) differentiate_rows_kernel(const __grid_constant__ DifferentiateTask task) {
  __shared__ double2 shared[rule_bytes / sizeof(double2)];
  differentiate_rows_lane(task, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.y - 1 - blockIdx.y), LaneGroup{},
                          shared);
}

__global__ void __launch_bounds__(warp_lanes, 8) differentiate_keys_kernel(const __grid_constant__ DifferentiateTask task) {
  __shared__ double2 shared[rule_bytes / sizeof(double2)];
  differentiate_keys_lane(task, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), LaneGroup{}, shared);
}

}  // namespace
}  // namespace simt_cuda

HeadLaunchSize gpu_head_launch_size(const HeadBatch<float>& batch) { return simt_cuda::head_launch_size(batch); }

namespace {

/// A thread block for each of a part's heads and blocks of rows or keys.
template <class Task>
void launch(void (*kernel)(Task), const Task& task, int blocks, int threads, std::size_t shared_bytes, const Stream& stream) {
  const dim3 grid(static_cast<unsigned>(task.part.count), static_cast<unsigned>(blocks));
  kernel<<<grid, static_cast<unsigned>(threads), shared_bytes, stream.get()>>>(task);
  check(cudaGetLastError());
}
void launch_backward(void (*kernel)(DifferentiateTask), const DifferentiateTask& task, const Stream& stream) {
  launch(kernel, task, task.warps, simt_cuda::warp_lanes, simt_cuda::row_stage_bytes, stream);
}

}  // namespace

void load_heads() { load_file_of(simt_cuda::attend_kernel); }

void launch_attend(const AttendTask& task, const Stream& stream) {
  launch(simt_cuda::attend_kernel, task, task.teams, simt_cuda::team_threads, task.shared_bytes, stream);
}
void launch_differentiate_rows(const DifferentiateTask& task, const Stream& stream) {
  launch_backward(simt_cuda::differentiate_rows_kernel, task, stream);
}
void launch_differentiate_keys(const DifferentiateTask& task, const Stream& stream) {
  launch_backward(simt_cuda::differentiate_keys_kernel, task, stream);
}

}  // namespace attoscope
