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
  bool fork = false;  ///< by going on under another plan, not by going back alone
  TrainDrawing drawing{};
};

/// The branches of the training on show, oldest first.
struct TrainBranches {
  static constexpr std::size_t most = 4;

  std::shared_ptr<const TrainRecord> seen;  ///< the newest record
  bool begins_anew = false;                 ///< the first step was asked for: what comes next is another training
  std::vector<TrainBranch> left;
};

/// The step after which `now` left what `before` went on with; -1: it did not, or is another training.
int left_after(const TrainRecord& before, const TrainRecord& now);

/// Takes note of a record. True if it is that of another training.
bool follow(TrainBranches& branches, const std::shared_ptr<const TrainRecord>& now);

/// The place of the comparison, or run, of a branch among those of the present record; -1: it has none.
int place_of_pair(const TrainRecord& record, const PairRecord& pair);
int place_of_run(const TrainRecord& record, const RunRecord& run);

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
