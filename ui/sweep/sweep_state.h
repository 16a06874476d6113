/// State of the Sweep workspace between frames.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "kernels/experiment/table.h"
#include "ui/frame/sweep_answer.h"
#include "ui/frame/ui_state.h"
#include "ui/session/sweep_plan.h"
#include "ui/sweep/series.h"

namespace attoscope {

/// Drawing of the sweep, and typed texts.
struct SweepState {
  SweepDrawing drawing;
  CellPicture heat;  ///< one cell for each combination: the first parameter across, the second upwards
  std::shared_ptr<const SweepTable> heat_table;
  std::array<std::string, 2> typed, typed_from;  ///< typed values, and the plan's values that they began with
  Table rows;                                    ///< of all combinations
  std::shared_ptr<const SweepTable> rows_of;
  std::string search;
  VariedParameter zoomed;                       ///< the first parameter, whose axis is zoomed
  double zoom_from = 0, zoom_to = 0;            ///< the shown part of the first parameter's axis; both 0: all
  std::optional<SweepPlace> pointed, pointing;  ///< combination under the mouse in the last frame, and in this one
};

}  // namespace attoscope
