/// Training records with plausible made-up numbers, without training.
#pragma once

#include <memory>

#include "kernels/train/plan/plan.h"
#include "tests/support/rooms.h"
#include "ui/frame/train_answer.h"

namespace attoscope::testing {

/// A record of `plan` after `steps` steps: losses fall, deviations grow like the square root of the steps.
std::shared_ptr<TrainRecord> made_record(const TrainPlan& plan, int steps);

/// Input of the panels for `record`: paused, with the states that the plan keeps.
TrainView made_view(std::shared_ptr<const TrainRecord> record);
/// Input of the panels before any training, with the text read.
TrainView ready_view(const TrainPlan& plan);

}  // namespace attoscope::testing
