/// The NVIDIA driver, without any CUDA header.
#pragma once

namespace attoscope {

/// The newest CUDA that the driver runs: 13000 for 13.0; 0 where there is no driver, or the program was built without CUDA.
int cuda_of_driver();

}  // namespace attoscope
