#include "kernels/tensor_core/hardware_kernel.cuh"

namespace attoscope {
HardwareKernel e4m3_kernel(int d, const HardwareTile& tile) { return mma::kernel_of<mma::Factors::e4m3>(d, tile); }
}  // namespace attoscope
