// The backward pass of methods in float.
#include "kernels/gpu/gradients_kernel.cuh"

namespace attoscope {

void load_gradients_in_float() { load_file_of(simt_cuda::gradient_kernel<simt_cuda::RowsLaunch<float>>); }

std::unique_ptr<GpuGradients<float>> gpu_gradients_in_float(float limit_ms) {
  return std::make_unique<simt_cuda::CudaGradients<float>>(limit_ms);
}

}  // namespace attoscope
