/// Answers to the questions of lessons; and numbers that no `Result` holds, as lessons and claims name them: of a small
/// training
/// ("train.rel_l2", "train.b_exact.wasserstein"), of tensor cores' sums ("sum.h100", "sum.h100.flush4", "sum.a100.centred"),
/// and of a small random model's next tokens ("model.a.kl_mean", "model.bf16.dlogp_median_abs", "model.hidden.3",
/// "model.share.0").
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

/// Measures that begin with a word of their own.
struct OwnNumbers {
  std::string_view prefix;
  /// Throws std::invalid_argument in a sentence where the measure is not known.
  void (*check)(std::string_view measure);
  /// "weights of a - b, relative L2, after 60 steps"; "mean |error| of P·V on h100, of mean |P·V|".
  std::string (*title)(std::string_view measure);
  /// Trains what the measure needs: a and b round as the experiment's do, in its format, with eight tiles of keys, from its
  /// seed. Or `sum_drift` with the experiment's n, format and seed; V has the mean 0.5, or 0 where it is centred. Throws as
  /// these do. Or `answer_model` with the experiment's methods, format and n tokens, the model from its seed. Stopped when
  /// cancelled.
  double (*number)(std::string_view measure, const Experiment& experiment, const Cancelled& cancelled);
};
extern const OwnNumbers train_numbers, sum_numbers, model_numbers;

/// The numbers that a measure belongs to, known or not; null: those of a `Result`.
inline const OwnNumbers* own_numbers(std::string_view measure) {
  for (const OwnNumbers* const numbers : {&train_numbers, &sum_numbers, &model_numbers})
    if (measure.starts_with(numbers->prefix)) return numbers;
  return nullptr;
}

/// The model that is trained.
struct TrainedModel {
  int layers = 2, width = 32, heads = 2, context = 64, key_tiles = 8, batch = 2, steps = 60, warmup = 10;
};
inline constexpr TrainedModel trained_model{};

/// A measure that is no number but a curve a model.
inline constexpr std::string_view train_losses = "train.spike.losses";
/// The losses of a and b in every step of the plan `spike` at a seed; NaN after a divergence.
std::vector<std::pair<double, double>> spike_losses(std::uint64_t seed, const Cancelled& cancelled);

/// The plan that is trained for a number, for somebody who wants to look further.
TrainPlan train_number_plan(std::string_view measure, const Experiment& experiment);

}  // namespace attoscope::app
