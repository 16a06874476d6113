/// What an update computes again after a change of each control: the rest is remembered.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "kernels/experiment/result.h"

namespace attoscope {

/// A control, and what a change of it costs. What changes the picture alone (field, colours, zoom, panels) asks nothing again.
struct Control {
  const char* name;
  std::function<void(Experiment&)> change;  ///< to another value each time
  std::vector<UpdatePart> again;            ///< in ascending order
};
std::span<const Control> controls();

}  // namespace attoscope
