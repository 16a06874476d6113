/// The curves and measures of a plan while it trains, immutable once published; and the names of their numbers, listed once for
/// JSON, CSV and the window's tables.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/train/measures.h"
#include "kernels/train/trainer.h"

namespace attoscope {

/// One head at a measured step.
struct HeadHealth {
  HeadStatistics statistics{};
  double query_norm = 0;  ///< spectral norm of W^Q

  /// Signed mean of delta's error, as a share of the mean |delta|.
  double delta_bias() const { return statistics.delta_size > 0 ? statistics.delta_error / statistics.delta_size : 0; }
};

/// The heads of a run at a measured step, [layer * heads + head].
struct RunHealth {
  int step = 0;
  std::vector<HeadHealth> heads;
};

struct RunRecord {
  RunPlan run;
  std::vector<StepReport> steps;  ///< every step, without its statistics
  std::vector<RunHealth> health;  ///< every measured step
  std::string stopped;            ///< one sentence that says why the run stopped; empty: it did not
  /// The loss on the held-out text, after the last step; NaN before that, and if nothing is held out.
  double heldout_loss = std::numeric_limits<double>::quiet_NaN();
};
/// The number of skipped steps, whose gradients overflowed.
inline int skipped_steps(const RunRecord& run) {
  return static_cast<int>(std::ranges::count(run.steps, true, &StepReport::skipped));
}

/// Two models at a measured step.
struct PairPoint {
  int step = 0;
  double loss_difference = 0;                ///< loss of x - loss of y
  std::vector<WeightDeviation> deviations;   ///< [0] over all, [1 + t] of tensor t
  std::vector<std::vector<float>> profiles;  ///< [t]: max |dW| along the rows of tensor t (see `profile`)
};

struct PairRecord {
  PairPlan pair;
  std::vector<PairPoint> points;
};

/// A step after which training continued under another plan.
struct Fork {
  int step = 0;
  std::string sentence;  ///< "a: policy eager -> hw"
};

/// The whole record, a value.
struct TrainRecord {
  TrainPlan plan;
  Parameters parameters;
  std::string device;
  std::string remark;  ///< one sentence that says why the requested device is not used; empty: it is
  int step = 0;        ///< steps taken by all runs that have not stopped
  std::vector<RunRecord> runs;
  std::vector<PairRecord> pairs;
  std::vector<Fork> forks;
  double seconds = 0;  ///< spent in steps

  bool finished() const { return step >= plan.recipe.steps; }
};

/// The reason why a or b stopped the training before its last step; empty: it can continue. With kind bisect it continues
/// without a while a suspect is left: the suspects that do not diverge show which piece causes the failure.
inline std::string ended(const TrainRecord& record) {
  const std::vector<RunRecord>& runs = record.runs;
  const auto goes_on = [](const RunRecord& run) { return run.stopped.empty(); };
  if (!goes_on(runs[1])) return runs[1].stopped;
  const bool suspects_left = record.plan.kind == TrainKind::bisect && std::any_of(runs.begin() + 2, runs.end(), goes_on);
  return suspects_left ? std::string() : runs[0].stopped;
}

/// Numbers of the deviation of two models' weights; tables and curves show the first five.
inline constexpr std::array<NamedNumber<WeightDeviation, double>, 6> weight_numbers{
    {{"max_abs", &WeightDeviation::max_abs},
     {"wasserstein", &WeightDeviation::wasserstein},
     {"rel_l2", &WeightDeviation::rel_l2},
     {"update_cosine", &WeightDeviation::update_cosine},
     {"directionality", &WeightDeviation::directionality},
     {"step_size", &WeightDeviation::step_size}}};
inline constexpr std::size_t shown_weight_numbers = 5;

/// Numbers of a run's step, except for `skipped`.
inline constexpr std::array<NamedNumber<StepReport, double>, 4> step_numbers{{{"loss", &StepReport::loss},
                                                                              {"gradient_norm", &StepReport::gradient_norm},
                                                                              {"rate", &StepReport::rate},
                                                                              {"loss_scale", &StepReport::loss_scale}}};

}  // namespace attoscope
