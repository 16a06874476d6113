
#include "kernels/cpu/simulate.h"
#include "kernels/experiment/experiment.h"
#include "kernels/parallel/parallel.h"
#include "kernels/train/head/head_code.h"

namespace attoscope {
namespace {

/// Exact attention of a head in double.
Job<double> truth_of(const HeadBatch<float>& heads) {
  Problem problem;
  problem.n = heads.context;
  problem.d = heads.d;
  problem.mask.kind = Mask::Kind::causal;
  return job(problem, Method{.algorithm = Algorithm::three_pass}, fp64, Operands<double>{});
}

void add(HeadStatistics& sum, const HeadStatistics& x) {
  sum.rows += x.rows;
  sum.tied_rows += x.tied_rows;
  sum.weights += x.weights;
  sum.saturated += x.saturated;
  sum.underflowed += x.underflowed;
  sum.lost_dS += x.lost_dS;
  sum.overflowed_dS += x.overflowed_dS;
  sum.delta_error += x.delta_error;
  sum.delta_size += x.delta_size;
}

}  // namespace

std::vector<HeadStatistics> head_statistics(const HeadGradient<float>& backward, int threads) {
  const HeadBatch<float>& heads = backward.forward;
  const HeadCode code = head_code({});
  const Job<double> truth = truth_of(heads);
  std::vector<HeadStatistics> places(static_cast<std::size_t>(heads.sequences * heads.heads));
  on_threads(threads, [&] {
    parallel_for(std::size_t{0}, places.size(),
                 [&](std::size_t i) { places[i] = code.statistics(backward, static_cast<int>(i), truth); });
  });
  std::vector<HeadStatistics> sums(static_cast<std::size_t>(heads.heads));
  for (std::size_t i = 0; i < places.size(); ++i) add(sums[i % sums.size()], places[i]);
  return sums;
}

}  // namespace attoscope
