/// Answers to the questions of lessons; and own numbers, which no `Result` holds, by their names in lessons and claims: of a
/// small training ("train.rel_l2", "train.b_exact.wasserstein"), of tensor cores' sums ("sum.h100", "sum.h100.flush4",
/// "sum.a100.centred"), and of a small random model's next tokens ("model.a.kl_mean", "model.bf16.dlogp_median_abs",
/// "model.hidden.3", "model.share.0").
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"
#include "kernels/train/plan/plan.h"
#include "ui/frame/lesson.h"

namespace attoscope::app {

/// Computes the answer; a failure goes to its `problem`. Throws Stopped.
ui::LessonAnswer answer(const ui::LessonQuestion& question, const Options& options);

/// Measures that share a prefix.
struct OwnNumbers {
  std::string_view prefix;
  /// Throws std::invalid_argument in a sentence if the measure is unknown.
  void (*check)(std::string_view measure);
  /// "weights of a - b, relative L2, after 60 steps"; "mean |error| of P·V on h100, of mean |P·V|".
  std::string (*title)(std::string_view measure);
  /// Computes the number. train.: trains a and b with the experiment's rounding, format and seed, with eight tiles of keys.
  /// sum.: `sum_drift` with the experiment's n, format and seed; V has mean 0.5, or 0 if centred. model.: `answer_model` with
  /// the experiment's methods, format and n tokens, on a model from its seed. Throws as these do; Stopped when cancelled.
  double (*number)(std::string_view measure, const Experiment& experiment, const Cancelled& cancelled);
};
extern const OwnNumbers train_numbers, sum_numbers, model_numbers;

/// The own numbers with the measure's prefix, also for an unknown measure; null: a measure of a `Result`.
inline const OwnNumbers* own_numbers(std::string_view measure) {
  for (const OwnNumbers* const numbers : {&train_numbers, &sum_numbers, &model_numbers})
    if (measure.starts_with(numbers->prefix)) return numbers;
  return nullptr;
}

/// Shape and recipe of the trained model.
struct TrainedModel {
  int layers = 2, width = 32, heads = 2, context = 64, key_tiles = 8, batch = 2, steps = 60, warmup = 10;
};
inline constexpr TrainedModel trained_model{};

/// A measure that is a curve for each model, not a number.
inline constexpr std::string_view train_losses = "train.spike.losses";
/// The losses of a and b in every step of the plan `spike` at a seed; NaN after a divergence.
std::vector<std::pair<double, double>> spike_losses(std::uint64_t seed, const Cancelled& cancelled);

/// The plan that is trained for a measure, for further inspection.
TrainPlan train_number_plan(std::string_view measure, const Experiment& experiment);

}  // namespace attoscope::app
