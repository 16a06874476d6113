/// What the Train workspace remembers between frames.
#pragma once

#include <optional>
#include <string>

#include "ui/frame/ui_state.h"
#include "ui/train/branches.h"
#include "ui/train/series.h"

namespace attoscope {

struct TrainPanelState {
  TrainDrawing drawing;
  TrainBranches branches;
  CellPicture picture;                                ///< of the weights
  std::shared_ptr<const TrainRecord> picture_record;  ///< and what it was made from
  std::shared_ptr<const WeightGap> picture_gap;
  TrainLook picture_look{};
  double picture_x0 = 0, picture_x1 = 0;
  std::optional<int> pointed, pointing;  ///< the step under the mouse in the frame before, and in this one
  int step_before = -1;                  ///< that was picked before the last click: a double click changes nothing
  double zoom0 = 0, zoom1 = 0;           ///< the steps that are shown; both 0: all
  float plot_left = 0, plot_right = 0;   ///< where the step axis lies on screen
  bool shows_numbers = false;            ///< in the place of the plan, where the window is narrow
  bool shows_gradient = false;           ///< the steps of the backward pass
  int sorted_by = -1;                    ///< a column of the tensors; -1: as they lie in the model
  std::string typed_format, typed_text, typed_checkpoint;
};

}  // namespace attoscope
