/// What the Sweep workspace remembers between frames.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "ui/frame/sweep_answer.h"
#include "ui/frame/ui_state.h"
#include "ui/sweep/series.h"

namespace attoscope {

/// The sweep as it is drawn, and what is being typed.
struct SweepState {
  SweepDrawing drawing;
  CellPicture heat;  ///< a cell for each combination: the first parameter across, the second upwards
  std::shared_ptr<const SweepTable> heat_table;
  std::array<std::string, 2> typed, typed_from;  ///< values as they are typed, and the plan's that they began with
  std::string search;
  std::optional<SweepPlace> pointed, pointing;  ///< under the mouse in the frame before, and in this one
};

}  // namespace attoscope
