// Attention of training on a GPU, in thread blocks of eight warps, as in kernels/gpu/simulate_kernel.cuh.
#define ATTOSCOPE_SIMT simt_cuda

#include "kernels/train/head/head_warps.h"
#include "kernels/train/primitives/gpu_primitives.h"

namespace attoscope {
namespace simt_cuda {
namespace {

/// Blocks start in order: the blocks with most work come first.
__global__ void __launch_bounds__(team_threads, 2) attend_kernel(const __grid_constant__ AttendTask task) {
  __shared__ double2 shared[rule_bytes / sizeof(double2)];
  attend_thread(task, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.y - 1 - blockIdx.y), LaneGroup{}, shared);
}

__global__ void __launch_bounds__(team_threads, 2) differentiate_rows_kernel(const __grid_constant__ DifferentiateTask task) {
  __shared__ double2 shared[rule_bytes / sizeof(double2)];
  differentiate_rows_thread(task, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.y - 1 - blockIdx.y), LaneGroup{},
                            shared);
}

__global__ void __launch_bounds__(team_threads, 2) differentiate_keys_kernel(const __grid_constant__ DifferentiateTask task) {
  __shared__ double2 shared[rule_bytes / sizeof(double2)];
  differentiate_keys_thread(task, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), LaneGroup{}, shared);
}

}  // namespace
}  // namespace simt_cuda

HeadLaunchSize gpu_head_launch_size(const HeadBatch<float>& batch) { return simt_cuda::head_launch_size(batch); }

namespace {

/// A thread block for each of a part's heads and blocks of rows or keys.
template <class Task>
void launch(void (*kernel)(Task), const Task& task, std::size_t shared_bytes, const Stream& stream) {
  const dim3 grid(static_cast<unsigned>(task.part.count), static_cast<unsigned>(task.size.teams));
  kernel<<<grid, static_cast<unsigned>(simt_cuda::team_threads), shared_bytes, stream.get()>>>(task);
  check(cudaGetLastError());
}

}  // namespace

void load_heads() { load_file_of(simt_cuda::attend_kernel); }

void launch_attend(const AttendTask& task, const Stream& stream) {
  launch(simt_cuda::attend_kernel, task, task.size.forward.shared, stream);
}
void launch_differentiate_rows(const DifferentiateTask& task, const Stream& stream) {
  launch(simt_cuda::differentiate_rows_kernel, task, task.size.rows.shared, stream);
}
void launch_differentiate_keys(const DifferentiateTask& task, const Stream& stream) {
  launch(simt_cuda::differentiate_keys_kernel, task, task.size.keys.shared, stream);
}

}  // namespace attoscope
