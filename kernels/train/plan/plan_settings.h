/// The settings of a training plan with their ranges: `validate`, session files, options and checkpoints read them.
#pragma once

#include "kernels/experiment/settings.h"
#include "kernels/train/plan/plan.h"

namespace attoscope {

Settings settings(TrainPlan& plan);
Settings settings(ModelShape& model);
Settings settings(Recipe& recipe);

}  // namespace attoscope
