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
  std::ranges::sort(x);
  return (x[(x.size() - 1) / 2] + x[x.size() / 2]) / 2;
}

/// The measures of differences of log-probabilities.
void set_differences(RunMeasures& m, const std::vector<double>& x, const std::vector<double>& other) {
  std::vector<double> d(x.size()), e(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    d[i] = std::fabs(x[i] - other[i]);
    e[i] = exponential(d[i]);
  }
  m.dlogp_mean_abs = mean(d);
  m.dlogp_max_abs = d.empty() ? 0 : *std::ranges::max_element(d);
  m.dlogp_median_abs = median(std::move(d));
  m.mean_exp_abs_dlogp = mean(e);
}

}  // namespace

LogitComparison::LogitComparison(const std::vector<int>& tokens, int vocabulary, const StopSign& stop)
    : tokens_(tokens), vocabulary_(vocabulary), stop_(stop), lanes_(logit_lanes(stop.isa)) {}

LogitComparison::Block LogitComparison::block(LogitSource& source, int first, int count) const {
  Block b{&source, source.logits(first, count), std::vector<LogitSum>(static_cast<std::size_t>(count))};
  parallel_for_single(0, count, [&](int i) {
    stop_.check();
    b.sums[static_cast<std::size_t>(i)] =
        source.sum(lanes_, b.x.data() + static_cast<std::ptrdiff_t>(i) * vocabulary_, vocabulary_);
  });
  return b;
}

double LogitComparison::divergence(const Block& reference, const Block& x, int i) const {
  const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(i) * vocabulary_;
  const auto at = static_cast<std::size_t>(i);
  return lanes_.divergence(reference.x.data() + row, reference.sums[at], x.x.data() + row, x.sums[at], vocabulary_);
}

void LogitComparison::add(const Block& b, std::size_t run, int first) {
  for (std::size_t i = 0; i < b.sums.size(); ++i) {
    const std::size_t next = static_cast<std::size_t>(first) + i + 1;
    if (next >= tokens_.size()) return;
    const double logit = b.x[i * static_cast<std::size_t>(vocabulary_) + static_cast<std::size_t>(tokens_[next])];
    logp_[run].push_back(b.source->log_probability(b.sums[i], logit));
  }
}

std::vector<RunMeasures> LogitComparison::compare(const std::vector<LogitSource*>& runs, const std::vector<RunPair>& pairs,
                                                  const std::function<void(std::size_t, const std::vector<double>&)>& keep) {
  const int n = static_cast<int>(tokens_.size());
  std::vector<RunMeasures> found(pairs.size());
  std::vector<std::vector<double>> kl(pairs.size(), std::vector<double>(static_cast<std::size_t>(n)));
  logp_.assign(runs.size(), {});
  for (int first = 0; first < n; first += logit_block) {
    const int count = std::min(logit_block, n - first);
    std::vector<Block> blocks;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      blocks.push_back(block(*runs[r], first, count));
      add(blocks.back(), r, first);
      if (keep) keep(r, blocks.back().x);
    }
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      const Block &x = blocks[pairs[p].x], &other = blocks[pairs[p].other];
      parallel_for_single(0, count, [&](int i) { kl[p][static_cast<std::size_t>(first + i)] = divergence(other, x, i); });
      for (std::size_t i = 0; i < x.sums.size(); ++i) found[p].top1_flips += x.sums[i].argmax != other.sums[i].argmax;
    }
  }
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    found[p].nll = nll(pairs[p].x);
    found[p].kl_mean = mean(kl[p]);
    found[p].kl_max = *std::ranges::max_element(kl[p]);
    set_differences(found[p], logp_[pairs[p].x], logp_[pairs[p].other]);
  }
  return found;
}

double LogitComparison::nll(std::size_t run) const { return -mean(logp_[run]); }

std::vector<double> target_log_probabilities(LogitSource& source, const std::vector<int>& tokens, int vocabulary,
                                             const StopSign& stop) {
  LogitComparison one(tokens, vocabulary, stop);
  one.compare({&source}, {}, {});
  return one.log_probabilities(0);
}

double mean_abs_difference(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += std::fabs(x[i] - y[i]);
  return x.empty() ? 0 : sum / static_cast<double>(x.size());
}

}  // namespace attoscope
