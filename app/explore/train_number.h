/// Measures of a small training in lessons and claims: "train.rel_l2", "train.b_exact.wasserstein".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"
#include "kernels/train/plan/plan.h"

namespace attoscope {

/// Size and recipe of the model.
struct TrainedModel {
  int layers = 2, width = 32, heads = 2, context = 64, key_tiles = 8, batch = 2, steps = 60, warmup = 10;
};
inline constexpr TrainedModel trained_model{};

/// True if the name is of such a measure, known or not.
bool is_train_number(std::string_view measure);
/// Throws std::invalid_argument with one sentence if the measure is unknown.
void check_train_number(std::string_view measure);
/// "weights of a - b, relative L2, after 60 steps".
std::string train_number_title(std::string_view measure);

/// Trains the models of the measure: roundings, format and seed of the experiment's a and b, with eight tiles of keys. Throws
/// as `trained`; Stopped when cancelled.
double train_number(std::string_view measure, const Experiment& experiment, const Cancelled& cancelled);

/// The measure that is a loss curve for each model instead of a number.
inline constexpr std::string_view train_losses = "train.spike.losses";
/// Losses of a and b at every step of the plan `spike` with a seed; NaN after a divergence.
std::vector<std::pair<double, double>> spike_losses(std::uint64_t seed, const Cancelled& cancelled);

/// Plan of the measure, to be opened in Train.
TrainPlan train_number_plan(std::string_view measure, const Experiment& experiment);

}  // namespace attoscope
