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
  /// The sum of a row of its logits, and the log-probability of a logit by it: in double, over the whole row, unless the run
  /// has a loss of its own.
  virtual LogitSum sum(const LogitLanes& lanes, const double* x, int count) const { return lanes.sum(x, count); }
  virtual double log_probability(const LogitSum& sum, double logit) const { return sum.log_probability(logit); }
};

/// Runs by their indices: x against another.
struct RunPair {
  std::size_t x, other;
};

class LogitComparison {
 public:
  LogitComparison(const std::vector<int>& tokens, int vocabulary, const StopSign& stop);
  /// The measures of each pair; `keep` receives each run's logits, a block of positions at a time.
  std::vector<RunMeasures> compare(const std::vector<LogitSource*>& runs, const std::vector<RunPair>& pairs,
                                   const std::function<void(std::size_t run, const std::vector<double>&)>& keep);
  /// The log-probabilities of the n - 1 targets.
  const std::vector<double>& log_probabilities(std::size_t run) const { return logp_[run]; }
  /// The mean of their negatives.
  double nll(std::size_t run) const;

 private:
  /// The logits of some positions of one run.
  struct Block {
    const LogitSource* source = nullptr;
    std::vector<double> x;
    std::vector<LogitSum> sums;
  };
  Block block(LogitSource& source, int first, int count) const;
  double divergence(const Block& reference, const Block& x, int i) const;
  void add(const Block& b, std::size_t run, int first);

  const std::vector<int>& tokens_;
  int vocabulary_;
  const StopSign& stop_;
  LogitLanes lanes_;
  std::vector<std::vector<double>> logp_;  ///< [run][target]
};

/// The log-probabilities of the n - 1 targets of one run.
std::vector<double> target_log_probabilities(LogitSource& source, const std::vector<int>& tokens, int vocabulary,
                                             const StopSign& stop);

double mean_abs_difference(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace attoscope
