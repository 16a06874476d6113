/// The curves and measures of a plan while it trains; immutable once published.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
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
  std::string stopped;            ///< one sentence that says why it stopped; empty: it did not
  /// The loss on the held-out text, after the last step; NaN before that, and if nothing is held out.
  double heldout_loss = std::numeric_limits<double>::quiet_NaN();
};
/// The number of steps that the loss scale skipped: their gradients overflowed.
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
  std::string remark;  ///< one sentence that says why it is not the requested device; empty: it is
  int step = 0;        ///< steps taken by all runs that continue
  std::vector<RunRecord> runs;
  std::vector<PairRecord> pairs;
  std::vector<Fork> forks;
  double seconds = 0;  ///< spent in steps

  bool finished() const { return step >= plan.recipe.steps; }
};

}  // namespace attoscope
