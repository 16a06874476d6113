/// Training records made by hand, as plausible as trained ones, in no time.
#pragma once

#include <memory>

#include "kernels/train/plan/plan.h"
#include "tests/support/rooms.h"
#include "ui/frame/train_answer.h"

namespace attoscope::testing {

/// A record of `plan` after so many steps: losses that fall, deviations that grow like the root of the steps.
std::shared_ptr<TrainRecord> made_record(const TrainPlan& plan, int steps);

/// Input of the panels for it: paused, with the states that the plan keeps.
TrainView made_view(std::shared_ptr<const TrainRecord> record);
/// Input of the panels with nothing trained yet and the text read.
TrainView ready_view(const TrainPlan& plan);

}  // namespace attoscope::testing
