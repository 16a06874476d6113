/// Golden, a and b in a GPU's memory; parts of their errors are drawn on the CPU. Only *.cu include this.
#pragma once

#include <memory>

#include "kernels/arithmetic/format.h"
#include "kernels/gpu/device.h"

namespace attoscope {

/// Row-major rows x cols in the memory of the GPU `device`; complete when published, and never changed afterwards.
class DeviceMatrices {
 public:
  int device = 0, rows = 0, cols = 0;
  std::shared_ptr<const double> golden, a, b;
  double golden_rms = 0;
  Format format{};  ///< whose ulps count
};

/// Loads the file of the kernels that make pictures of them on the current GPU.
void load_pictures();

}  // namespace attoscope
