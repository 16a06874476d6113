// Progress of work: never backwards by much, complete at the end, and optional.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

std::vector<double> shares_of(const Experiment& experiment, ComputeCache* cache = nullptr) {
  std::mutex mutex;
  std::vector<double> shares;
  const Progress told = [&](double share) {
    const std::lock_guard lock(mutex);
    shares.push_back(share);
  };
  compute(experiment, {.progress = told, .cache = cache});
  return shares;
}

Experiment question(int n, int rows = 0) {
  Experiment e = testing::sized_experiment(n, 16);
  e.problem.rows = rows;
  return e;
}

void expect_complete(const std::vector<double>& shares, std::size_t least) {
  ASSERT_GE(shares.size(), least);
  EXPECT_GT(*std::ranges::min_element(shares), 0);
  EXPECT_LT(shares.front(), 0.5);
  EXPECT_NEAR(*std::ranges::max_element(shares), 1, 1e-9);
  EXPECT_EQ(std::ranges::count_if(shares, [](double share) { return share > 1 - 1e-9; }), 1) << "only the end is the end";
}

TEST(Progress, ComesToOneInManySteps) {
  expect_complete(shares_of(question(1024)), 48);
  expect_complete(shares_of(question(1000)), 40);
  expect_complete(shares_of(question(1024, 300)), 12);
  Experiment wide = question(512);
  wide.format = fp64;
  expect_complete(shares_of(wide), 12);
  Experiment stored = question(512);
  stored.a.scaling.K = parse_scaling("e4m3/token");
  expect_complete(shares_of(stored), 12);
}

TEST(Progress, OfOneBlockComesToOne) { EXPECT_EQ(std::ranges::max(shares_of(question(2))), 1); }

TEST(Progress, RememberedPartsAreNoWork) {
  ComputeCache cache;
  Experiment e = question(2048);
  shares_of(e, &cache);
  e.a.block_k = 32;
  const std::vector<double> shares = shares_of(e, &cache);
  expect_complete(shares, 20);
  EXPECT_LT(shares.size(), shares_of(e).size());
}

TEST(Progress, IsEvenlySpread) {
  const std::vector<double> shares = shares_of(question(2048));
  double largest_step = 0;
  for (std::size_t i = 1; i < shares.size(); ++i) largest_step = std::max(largest_step, shares[i] - shares[i - 1]);
  EXPECT_LT(largest_step, 0.1);
}

TEST(Progress, ChangesNoBit) {
  const Experiment e = question(256);
  const Progress told = [](double) {};
  EXPECT_EQ(compute(e, {.progress = told}).digests.a, compute(e).digests.a);
}

}  // namespace
}  // namespace attoscope
