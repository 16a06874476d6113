#include "kernels/tensor_core/hardware_kernel.cuh"

namespace attoscope {
HardwareKernel fp16_kernel(int d, const HardwareTile& tile) { return mma::kernel_of<mma::Factors::fp16>(d, tile); }
}  // namespace attoscope
