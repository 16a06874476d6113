/// Numbers of a small training, as lessons and claims name them: "train.rel_l2", "train.b_exact.wasserstein".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"
#include "kernels/train/plan/plan.h"

namespace attoscope {

/// The model that is trained.
struct TrainedModel {
  int layers = 2, width = 32, heads = 2, context = 64, key_tiles = 8, batch = 2, steps = 60, warmup = 10;
};
inline constexpr TrainedModel trained_model{};

/// True if the measure is one of a training, known or not.
bool is_train_number(std::string_view measure);
/// Throws std::invalid_argument in a sentence where it is not known.
void check_train_number(std::string_view measure);
/// "weights of a - b, relative L2, after 60 steps".
std::string train_number_title(std::string_view measure);

/// Trains what the measure needs: a and b round as the experiment's do, in its format, with eight tiles of keys, from its seed.
/// Throws as `trained` does; Stopped when cancelled.
double train_number(std::string_view measure, const Experiment& experiment, const Cancelled& cancelled);

/// A measure that is no number but a curve a model.
inline constexpr std::string_view train_losses = "train.spike.losses";
/// The losses of a and b in every step of the plan `spike` at a seed; NaN after a divergence.
std::vector<std::pair<double, double>> spike_losses(std::uint64_t seed, const Cancelled& cancelled);

/// The plan that is trained for it, for somebody who wants to look further.
TrainPlan train_number_plan(std::string_view measure, const Experiment& experiment);

}  // namespace attoscope
