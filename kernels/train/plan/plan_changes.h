/// Differences between two training plans, in words.
#pragma once

#include <string>

#include "kernels/train/plan/plan.h"

namespace attoscope {

/// "a: policy eager -> hw, block_k 64 -> 32; recipe: rate 0.001 -> 0.002; kind methods -> replay"; empty if they are equal. A
/// change from one named policy to another is named instead of the steps that it changes.
std::string plan_changes(const TrainPlan& from, const TrainPlan& to);

/// The same, only for settings that must not change during training: text, model, batch and data seed.
std::string question_changes(const TrainPlan& from, const TrainPlan& to);

}  // namespace attoscope
