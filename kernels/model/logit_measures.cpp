#include "kernels/model/logit_measures.h"

#include <algorithm>
#include <cmath>

#include "kernels/arithmetic/exponential.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {
namespace {

double mean(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return x.empty() ? 0 : sum / static_cast<double>(x.size());
}

double median(std::vector<double> x) {
  if (x.empty()) return 0;
  std::ranges::transform(x, x.begin(), size_of_difference);
  std::ranges::sort(x);
  return (x[(x.size() - 1) / 2] + x[x.size() / 2]) / 2;
}

/// The largest number; infinite if one is NaN.
double largest(const std::vector<double>& x) {
  double most = x.empty() ? 0 : -HUGE_VAL;
  for (const double v : x) most = std::max(most, std::isnan(v) ? HUGE_VAL : v);
  return most;
}

/// Sets the measures of the differences of log-probabilities.
void set_differences(RunMeasures& m, const std::vector<double>& x, const std::vector<double>& other) {
  std::vector<double> d(x.size()), e(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    d[i] = std::fabs(x[i] - other[i]);
    e[i] = exponential(d[i]);
  }
  m.dlogp_mean_abs = mean(d);
  m.dlogp_max_abs = largest(d);
  m.dlogp_median_abs = median(std::move(d));
  m.mean_exp_abs_dlogp = mean(e);
}

/// The logits of some positions of one run.
struct Block {
  std::vector<double> x;
  std::vector<LogitSum> sums;
};

}  // namespace

LogitComparison compared_logits(const std::vector<LogitSource*>& runs, const std::vector<RunPair>& pairs,
                                const std::vector<int>& tokens, int vocabulary, const StopSign& stop,
                                const std::function<void(std::size_t, const std::vector<double>&)>& keep) {
  const LogitLanes lanes = logit_lanes(stop.isa);
  const int n = static_cast<int>(tokens.size());
  const auto row = [vocabulary](const Block& b, int i) { return b.x.data() + static_cast<std::ptrdiff_t>(i) * vocabulary; };
  LogitComparison found{std::vector<RunMeasures>(pairs.size()), std::vector<std::vector<double>>(runs.size()), {}};
  std::vector<std::vector<double>> kl(pairs.size(), std::vector<double>(tokens.size()));
  for (int first = 0; first < n; first += logit_block) {
    const int count = std::min(logit_block, n - first);
    std::vector<Block> blocks;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      Block& b = blocks.emplace_back(Block{runs[r]->logits(first, count), std::vector<LogitSum>(at(count))});
      parallel_for_single(0, count, [&](int i) {
        stop.check();
        b.sums[at(i)] = runs[r]->sum(lanes, row(b, i), vocabulary);
      });
      for (int i = 0; i < count && first + i + 1 < n; ++i)
        found.logp[r].push_back(runs[r]->log_probability(b.sums[at(i)], row(b, i)[tokens[at(first + i + 1)]]));
      if (keep) keep(r, b.x);
    }
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      const Block &x = blocks[pairs[p].x], &other = blocks[pairs[p].other];
      parallel_for_single(0, count, [&](int i) {
        kl[p][at(first + i)] = lanes.divergence(row(other, i), other.sums[at(i)], row(x, i), x.sums[at(i)], vocabulary);
      });
      for (std::size_t i = 0; i < x.sums.size(); ++i) found.measures[p].top1_flips += x.sums[i].argmax != other.sums[i].argmax;
    }
  }
  for (const std::vector<double>& logp : found.logp) found.nll.push_back(-mean(logp));
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    RunMeasures& m = found.measures[p];
    m.nll = found.nll[pairs[p].x];
    m.kl_mean = mean(kl[p]);
    m.kl_max = largest(kl[p]);
    set_differences(m, found.logp[pairs[p].x], found.logp[pairs[p].other]);
  }
  return found;
}

double size_of_difference(double x) { return std::isnan(x) ? HUGE_VAL : std::fabs(x); }

double mean_abs_difference(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += std::fabs(x[i] - y[i]);
  return x.empty() ? 0 : sum / static_cast<double>(x.size());
}

}  // namespace attoscope
