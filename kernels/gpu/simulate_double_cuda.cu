// Emulated kernels that work in double, the golden value among them, and the golden value in double-double.
#include "kernels/gpu/simulate_kernel.cuh"

namespace attoscope {
namespace simt_cuda {

__global__ void __launch_bounds__(warp_lanes, 8)
    dd_kernel(const __grid_constant__ Job<double> job, RowSlice slice, WorkRange range, char* scratch, std::size_t warp_bytes,
              double* out, unsigned long long* reached) {
  const int warp = static_cast<int>(blockIdx.x);
  const LaunchObserver<double> notes{.range = range};
  const std::int64_t end = dd_lane(job, slice, warp, LaneGroup{}.lane(), notes, scratch + warp * warp_bytes, out);
  atomicMax(reached, static_cast<unsigned long long>(end));
}

}  // namespace simt_cuda

WarpShape warp_shape(const Job<double>& job) { return simt_cuda::shape_of(job); }

WarpShape warp_shape_double_double(const Job<double>& job) {
  return {simt_cuda::warp_lanes * simt_cuda::DoubleDoubleBlock<simt_cuda::LaunchObserver<double>>::rows,
          simt_cuda::dd_warp_bytes(job), simt_cuda::dd_work_of(job)};
}

void launch(const Job<double>& job, const DeviceSlice& slice, const DeviceNotes& notes, const Stream& stream) {
  simt_cuda::launch_attention(job, slice, notes, stream);
}

void launch_double_double(const Job<double>& job, const DeviceSlice& slice, const Stream& stream) {
  using namespace simt_cuda;
  dd_kernel<<<warps_of(slice.count, DoubleDoubleBlock<LaunchObserver<double>>::rows), warp_lanes, 0, stream.get()>>>(
      job, RowSlice{slice.rows, slice.count, slice.first}, slice.range, slice.scratch, dd_warp_bytes(job), slice.out,
      slice.reached);
  check(cudaGetLastError());
}

}  // namespace attoscope
