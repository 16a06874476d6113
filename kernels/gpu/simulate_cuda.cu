// Emulated kernels that work in float.
#include "kernels/gpu/simulate_kernel.cuh"

namespace attoscope {

WarpShape warp_shape(const Job<float>& job) { return simt_cuda::shape_of(job); }

void launch(const Job<float>& job, const DeviceSlice& slice, const DeviceNotes& notes, const Stream& stream) {
  simt_cuda::launch_attention(job, slice, notes, stream);
}

}  // namespace attoscope
