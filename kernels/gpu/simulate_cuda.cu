// Emulated kernels in float.
#include "kernels/gpu/simulate_kernel.cuh"

namespace attoscope {

void load_attention_in_float() { load_file_of(simt_cuda::attention_kernel<float>); }

BlockShape block_shape(const Job<float>& job) { return simt_cuda::shape_of(job); }

void launch(const Job<float>& job, const BlockShape& shape, const DeviceSlice& slice, const DeviceNotes& notes,
            const Stream& stream) {
  simt_cuda::launch_attention(job, shape, slice, notes, stream);
}

}  // namespace attoscope
