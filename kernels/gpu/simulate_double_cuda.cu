// Emulated kernels in double, including the golden value, and the golden value in double-double.
#include "kernels/gpu/simulate_kernel.cuh"

namespace attoscope {
namespace simt_cuda {

/// Kernel: a thread block is one warp.
__global__ void __launch_bounds__(warp_lanes, 8)
    dd_kernel(const __grid_constant__ Job<double> job, const RowSlice slice, const WorkRange range, char* scratch,
              std::size_t scratch_bytes, double* out, unsigned long long* reached) {
  const int team = static_cast<int>(blockIdx.x);
  const LaunchObserver<double> notes{.range = range};
  const std::int64_t end = dd_thread(job, slice, team, LaneGroup{}, notes, scratch + team * scratch_bytes, out);
  atomicMax(reached, static_cast<unsigned long long>(end));
}

}  // namespace simt_cuda

void load_attention_in_double() { load_file_of(simt_cuda::attention_kernel<double>); }

BlockShape block_shape(const Job<double>& job) { return simt_cuda::shape_of(job); }

BlockShape block_shape_double_double(const Job<double>& job) {
  const simt_cuda::TeamNeeds needs = simt_cuda::dd_needs(job);
  BlockShape shape{.rows = simt_cuda::team_rows, .scratch_bytes = needs.scratch_bytes, .work = needs.work};
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&shape.held, simt_cuda::dd_kernel, simt_cuda::warp_lanes, 0));
  return shape;
}

void launch(const Job<double>& job, const BlockShape& shape, const DeviceSlice& slice, const DeviceNotes& notes,
            const Stream& stream) {
  simt_cuda::launch_attention(job, shape, slice, notes, stream);
}

void launch_double_double(const Job<double>& job, const BlockShape& shape, const DeviceSlice& slice, const Stream& stream) {
  using namespace simt_cuda;
  dd_kernel<<<static_cast<unsigned>(teams_of(slice.count)), warp_lanes, 0, stream.get()>>>(
      job, RowSlice(slice), slice.range, slice.scratch, shape.scratch_bytes, slice.out, slice.reached);
  check(cudaGetLastError());
}

}  // namespace attoscope
