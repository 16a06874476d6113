// The backward pass in double, including golden's.
#include "kernels/gpu/gradients_kernel.cuh"

namespace attoscope {

void load_gradients_in_double() { load_file_of(simt_cuda::gradient_kernel<simt_cuda::RowsLaunch<double>>); }

std::unique_ptr<GpuGradients<double>> gpu_gradients_in_double(float limit_ms) {
  return std::make_unique<simt_cuda::CudaGradients<double>>(limit_ms);
}

}  // namespace attoscope
