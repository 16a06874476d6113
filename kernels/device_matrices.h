/// Golden, a and b as they lie on a GPU. Only *.cu include this.
#pragma once

#include <memory>

#include "kernels/device.h"
#include "kernels/format.h"

namespace attoscope {

/// Row-major rows x cols in the memory of the GPU `device`, complete before anybody sees them and never changed after.
class DeviceMatrices {
 public:
  int device = 0, rows = 0, cols = 0;
  std::shared_ptr<const double> golden, a, b;
  double golden_rms = 0;
  Format format{};  ///< whose ulps count
};

}  // namespace attoscope
