/// What was trained before it went back or was forked: kept as records, drawn behind the curves.
#pragma once

#include <memory>
#include <vector>

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

}  // namespace attoscope
