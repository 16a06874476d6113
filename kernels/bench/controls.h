/// Parts of an update that a change of each control computes again; the others are remembered.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "kernels/experiment/result.h"

namespace attoscope {

/// A control, and the cost of changing it. Controls of the picture alone (field, colours, zoom, panels) compute nothing again.
struct Control {
  const char* name;
  std::function<void(Experiment&)> change;  ///< to another value each time
  std::vector<UpdatePart> again;            ///< in ascending order
};
std::span<const Control> controls();

}  // namespace attoscope
