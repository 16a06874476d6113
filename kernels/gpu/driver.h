/// The NVIDIA driver, without any CUDA header.
#pragma once

namespace attoscope {

/// The newest CUDA version that the driver runs: 13000 for 13.0; 0 without a driver, or without CUDA in this program.
int cuda_of_driver();

}  // namespace attoscope
