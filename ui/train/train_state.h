/// The state of the Train workspace between frames, with the records of abandoned branches, which are drawn behind the curves.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ui/frame/ui_state.h"
#include "ui/train/series.h"

namespace attoscope {

/// The part of an earlier record that is no longer in the present one.
struct TrainBranch {
  std::shared_ptr<const TrainRecord> record;
  int from = 0;       ///< it left the present one after this step
  bool fork = false;  ///< true: a fork under another plan; false: a return to a kept step
  TrainDrawing drawing{};
};

/// The branches of the training on show, oldest first.
struct TrainBranches {
  static constexpr std::size_t most = 4;

  std::shared_ptr<const TrainRecord> seen;  ///< the newest record
  bool begins_anew = false;                 ///< the first step was requested: the next record is another training
  std::vector<TrainBranch> left;
};

/// The last step that `before` and `now` share if `now` abandoned later ones of `before`; else, or for another training, -1.
int left_after(const TrainRecord& before, const TrainRecord& now);

/// Updates the branches for a new record. True if it is that of another training.
bool follow(TrainBranches& branches, const std::shared_ptr<const TrainRecord>& now);

struct TrainPanelState {
  TrainDrawing drawing;
  TrainBranches branches;
  CellPicture picture;                                ///< of the weights
  std::shared_ptr<const TrainRecord> picture_record;  ///< the record, gap, look and steps of `picture`
  std::shared_ptr<const WeightGap> picture_gap;
  TrainLook picture_look{};
  double picture_x0 = 0, picture_x1 = 0;
  std::optional<int> pointed, pointing;  ///< the step under the mouse in the frame before, and in this one
  double zoom0 = 0, zoom1 = 0;           ///< the steps that are shown; both 0: all
  bool shows_numbers = false;            ///< numbers in place of the plan, in a narrow window
  bool shows_gradient = false;           ///< the steps of the backward pass
  std::string typed_format, typed_text, typed_checkpoint;
};

}  // namespace attoscope
