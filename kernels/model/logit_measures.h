/// Logits of several runs over the same tokens, compared position by position.
#pragma once

#include <functional>
#include <vector>

#include "kernels/experiment/stop_sign.h"
#include "kernels/model/model_answer.h"
#include "kernels/model/model_lanes.h"

namespace attoscope {

/// Positions whose logits are held at a time.
inline constexpr int logit_block = 64;

/// Logits of a run, [count, vocabulary] from position `first` on.
class LogitSource {
 public:
  virtual ~LogitSource() = default;
  virtual std::vector<double> logits(int first, int count) = 0;
  /// The sum of a row of the run's logits, and the log-probability of a logit by that sum: in double over the whole row, unless
  /// the run has its own loss.
  virtual LogitSum sum(const LogitLanes& lanes, const double* x, int count) const { return lanes.sum(x, count); }
  virtual double log_probability(const LogitSum& sum, double logit) const { return sum.log_probability(logit); }
};

/// Indices of two runs: x is compared with `other`.
struct RunPair {
  std::size_t x, other;
};

/// Measures of runs over the same n tokens.
struct LogitComparison {
  std::vector<RunMeasures> measures;      ///< of each pair
  std::vector<std::vector<double>> logp;  ///< [run]: log-probabilities of the n - 1 targets
  std::vector<double> nll;                ///< [run]: mean negative log-probability
};
/// Compares pairs of runs; passes each run's logits to `keep`, one block of positions at a time.
LogitComparison compared_logits(const std::vector<LogitSource*>& runs, const std::vector<RunPair>& pairs,
                                const std::vector<int>& tokens, int vocabulary, const StopSign& stop,
                                const std::function<void(std::size_t run, const std::vector<double>&)>& keep = {});

/// |x|, by which differences are ordered: infinite for NaN.
double size_of_difference(double x);

double mean_abs_difference(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace attoscope
