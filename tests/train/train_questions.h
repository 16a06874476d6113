/// Attention and whole training as questions to a device, in addition to tests/train/primitive_questions.h.
#pragma once

#include <memory>
#include <vector>

#include "kernels/train/trainer.h"
#include "tests/train/primitive_questions.h"

namespace attoscope::testing {

/// Attention of some heads, forward and backward: any policy, algorithm, format, sizes that are odd.
PrimitiveQuestion<float> attention_question();

/// A method with this policy, in small tiles, and the backward policy that belongs to it.
TrainMethod small_tiled(const Format& format, Algorithm algorithm, std::string_view policy);
/// A plan on a made-up text, whose run a has this method.
TrainPlan made_up_plan(const ModelShape& model, int batch, const TrainMethod& method);

/// Losses, gradient norms and the state after `steps` steps of run a on a device.
std::vector<double> trained(const TrainPlan& plan, int steps, std::unique_ptr<Primitives<float>> on);

}  // namespace attoscope::testing
