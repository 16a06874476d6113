/// Golden, a and b in a GPU's memory, for drawing. Only *.cu include this.
#pragma once

#include <memory>

#include "kernels/arithmetic/format.h"
#include "kernels/gpu/device.h"

namespace attoscope {

/// Row-major rows x cols in the memory of GPU `device`; complete when published, never changed afterwards.
class DeviceMatrices {
 public:
  int device = 0, rows = 0, cols = 0;
  std::shared_ptr<const double> golden, a, b;
  double golden_rms = 0;
  Format format{};  ///< format whose ulps are counted
};

/// Loads the kernels that draw pictures of the matrices on the current GPU.
void load_pictures();

}  // namespace attoscope
