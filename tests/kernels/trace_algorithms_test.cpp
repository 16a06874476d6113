/// The trace of each algorithm, for inputs small enough to compute by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/support/support.h"

namespace attoscope::trace_algorithms_test {
namespace {

using testing::small_experiment;

/// One query 1 against these keys, one a tile, d = 1, scale 1: the scores are the keys. Row 0 is traced.
Experiment of_scores(std::vector<double> keys, Algorithm algorithm, double v = 1) {
  const auto n = static_cast<int>(keys.size());
  Experiment e = small_experiment(fp32, n, 1);
  e.problem.scale = 1;
  e.problem.traced_row = 0;
  const auto size = static_cast<std::size_t>(n);
  e.problem.input = testing::given({n, n, 1, 1, std::vector<double>(size, 1.0), std::move(keys), std::vector<double>(size, v)});
  e.a = {.algorithm = algorithm, .block_k = 1};
  return e;
}

std::vector<double> column(const Result& r, auto field) {
  std::vector<double> x;
  for (const TraceTile& t : r.trace.tiles) x.push_back(static_cast<double>(field(t)));
  return x;
}
using Numbers = std::vector<double>;

TEST(TraceOf, Flash4KeepsAStaleMaxWhilePExceeds1) {
  Experiment e = of_scores({1, 3, 2, 5}, Algorithm::flash4);
  e.a.tau = 4;  // 3 - 1 is 2.9 in log2, 5 - 1 is 5.8
  const Result r = compute(e);
  EXPECT_EQ(column(r, [](auto& t) { return t.max_true; }), (Numbers{1, 3, 3, 5}));
  EXPECT_EQ(column(r, [](auto& t) { return t.max_used; }), (Numbers{1, 1, 1, 5}));
  EXPECT_EQ(column(r, [](auto& t) { return t.moved; }), (Numbers{0, 0, 0, 1}));
  EXPECT_EQ(column(r, [](auto& t) { return t.alpha < 1; }), (Numbers{0, 0, 0, 1}));
  EXPECT_NEAR(r.trace.tiles[1].p_max, std::exp(2.0), 1e-5);
  EXPECT_NEAR(r.trace.tiles[2].p_max, std::exp(1.0), 1e-6);
  EXPECT_EQ(r.trace.tiles[3].p_max, 1);
  EXPECT_LT(r.a_error.max_abs, 1e-6);
}

TEST(TraceOf, ATileWithANaNHasItAsItsLargestP) {
  Experiment e = of_scores({1, std::numeric_limits<double>::quiet_NaN(), 2}, Algorithm::flash2);
  e.a.block_k = 3;
  EXPECT_TRUE(std::isnan(compute(e).trace.tiles[0].p_max));
}

TEST(TraceOf, Flash4SaturatesPInE4m3Where448EndsAndCountsIt) {
  Experiment e = of_scores({0, 6.2, 5, -8, 6.3}, Algorithm::flash4, 3);  // exp(6.2) = 493, exp(6.3) = 545, exp(5) = 148
  e.a.tau = 64;
  e.a.precision[Step::P] = to_format(e4m3);
  const Result r = compute(e);
  EXPECT_EQ(column(r, [](auto& t) { return t.saturated; }), (Numbers{0, 1, 0, 0, 1}));
  EXPECT_EQ(column(r, [](auto& t) { return t.underflowed; }), (Numbers{0, 0, 0, 1, 0}));  // exp(-8) < 2^-10
  EXPECT_EQ(r.trace.tiles[1].p_max, 448);
  EXPECT_LT(r.a(0, 0), 3 * 0.95);  // numerators are cut, denominators are not
  e.a.p_exponent = 8;
  EXPECT_EQ(compute(e).trace.tiles[2].saturated, 1);  // 2^8 exp(5) is beyond 448 too
}

TEST(TraceOf, SplitKvStartsAgainInEveryRun) {
  Experiment e = of_scores({5, 1, 3, 2, 4, 9}, Algorithm::split_kv);
  e.a.splits = 3;
  const Result r = compute(e);
  EXPECT_EQ(column(r, [](auto& t) { return t.tile; }), (Numbers{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(column(r, [](auto& t) { return t.max_true; }), (Numbers{5, 5, 3, 3, 4, 9}));
  EXPECT_EQ(column(r, [](auto& t) { return t.max_used; }), (Numbers{5, 5, 3, 3, 4, 9}));
  EXPECT_EQ(column(r, [](auto& t) { return t.moved; }), (Numbers{0, 0, 0, 0, 0, 1}));
  for (const std::size_t first : {0u, 2u, 4u}) {
    EXPECT_EQ(r.trace.tiles[first].alpha, 1);
    EXPECT_EQ(r.trace.tiles[first].l, 1);
    EXPECT_LT(r.trace.tiles[first + 1].error, 1e-6);  // against the truth of the run's keys
  }
  EXPECT_LT(r.a_error.max_abs, 1e-6);
  EXPECT_EQ(r.rescales.nominal, 3);
}

TEST(TraceOf, ASinkIsInEveryTilesOutput) {
  for (const Algorithm algorithm : {Algorithm::flash1, Algorithm::flash2, Algorithm::flash4, Algorithm::split_kv}) {
    Experiment e = of_scores({1, 3, 2, 5}, algorithm);
    e.problem.sink = 2.5;
    e.a.splits = 1;
    const Result r = compute(e);
    for (const TraceTile& t : r.trace.tiles) EXPECT_LT(t.error, 1e-6) << name(algorithm) << " tile " << t.tile;
    EXPECT_NEAR(r.trace.tiles.back().error, std::fabs(r.a(0, 0) - (*r.golden)(0, 0)), 1e-15) << name(algorithm);
  }
}

TEST(TraceOf, ARowWithoutKeysHasZerosAndNoTile) {
  for (const Algorithm algorithm : emulated_algorithms)
    for (const Format& f : {bf16, fp64}) {
      Experiment e = small_experiment(f, 50, 8);
      e.problem.mask = {Mask::Kind::padding, 20};
      e.problem.sink = 1;
      e.problem.traced_row = 5;
      e.a.algorithm = algorithm;
      const Result r = compute(e);
      EXPECT_EQ(r.rows_without_keys, 20);
      EXPECT_TRUE(r.trace.tiles.empty());
      for (const Matrix* m : {&r.a, &r.b, r.golden.get()})
        EXPECT_TRUE(std::all_of(m->values.begin(), m->values.begin() + 20 * 8, [](double x) { return x == 0; }));
      EXPECT_EQ(r.a_error.nonfinite, 0);
      EXPECT_LT(r.a_error.max_abs, 0.1) << name(algorithm);
    }
}

}  // namespace
}  // namespace attoscope::trace_algorithms_test
