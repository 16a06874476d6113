/// The golden value against softmax in 113 bits.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/reference/plain.h"
#include "tests/support/seeds.h"

namespace attoscope::golden_test {
namespace {

using namespace testing;  // attoscope::testing

Experiment of_kind(Dice& dice, InputKind kind, const Format& format) {
  Experiment e = random_experiment(dice);
  e.problem.input = {};
  e.problem.input.kind = kind;
  e.format = format;
  e.a.precision = e.b.precision = policy("hw").precision;
  drop_impossible_accumulators(e);
  return e;
}

double largest_value(const Tensors& t) {
  return std::fabs(*std::ranges::max_element(t.v, {}, [](double x) { return std::fabs(x); }));
}

/// Calls check(golden, truth, result) for every element.
void for_each_element(const Result& r, auto check) {
  const Problem& p = r.experiment.problem;
  for (std::size_t i = 0; i < r.rows.size(); ++i) {
    const auto truth = plain::softmax(p, *r.inputs, r.rows[i], visible_keys(p, r.rows[i]));
    for (int col = 0; col < value_columns(p); ++col)
      check((*r.golden)(static_cast<int>(i), col), truth[static_cast<std::size_t>(col)]);
  }
}

constexpr InputKind drawn[] = {InputKind::normal, InputKind::uniform,   InputKind::outliers,  InputKind::ones,
                               InputKind::ties,   InputKind::ascending, InputKind::descending};

TEST(Golden, InDoubleIsTheTruthToAFewRoundings) {
  with_seeds(1, 60, [&](Dice& dice) {
    const Result r = compute(of_kind(dice, dice.any(drawn), bf16));
    const double slack = 1e-13 * largest_value(*r.inputs);
    for_each_element(r, [&](double golden, long double truth) {
      ASSERT_NEAR(golden, static_cast<double>(truth), slack) << describe(r.experiment);
    });
  });
}

TEST(Golden, OfAnFp64ExperimentIsTheTruthRoundedOnce) {
  with_seeds(1, 60, [&](Dice& dice) {
    const Result r = compute(of_kind(dice, dice.any(drawn), fp64));
    const long double below_one_column = 1e-26L * largest_value(*r.inputs);  // for columns that cancel
    for_each_element(r, [&](double golden, long double truth) {
      const auto ulps =
          static_cast<double>((std::fabs(golden - truth) - below_one_column) / ulp(fp64, static_cast<double>(truth)));
      ASSERT_LE(ulps, 0.501) << describe(r.experiment);
    });
  });
}

TEST(Golden, KnowsSinksSoftCappingAndSlopesUnderEveryMask) {
  struct Biases {
    std::optional<double> sink;
    double softcap, alibi;
  };
  static constexpr Biases biases[] = {{1.7, 0, 0},  {700, 0, 0},  {720, 0, 0}, {1000, 0, 0},     {-1e5, 0, 0},
                                      {{}, 2.5, 0}, {{}, 0, 0.3}, {{}, 0, -2}, {0.1, 30, 0.0625}};
  for (const Format& f : {bf16, fp64})
    for (const auto mask : {Mask::Kind::none, Mask::Kind::causal, Mask::Kind::window, Mask::Kind::padding})
      for (const Biases& b : biases) {
        Experiment e = small_experiment(f, 60, 12);
        e.problem.mask = {mask, 17};
        e.problem.sink = b.sink;
        e.problem.softcap = b.softcap;
        e.problem.alibi = b.alibi;
        const double slack = f == fp64 ? 1e-15 : 1e-13;
        for_each_element(compute(e), [&](double golden, long double truth) {
          ASSERT_NEAR(golden, static_cast<double>(truth), slack) << describe(e);
        });
      }
}

TEST(Golden, IsFiniteExactlyWhereTheTruthIs) {
  int seen = 0;
  with_seeds(1, 300, [&](Dice& dice) {
    Experiment e = random_experiment(dice);
    if (e.problem.input.kind != InputKind::tensors || works_in_double(e)) return;
    const Result r = compute(e);
    std::int64_t nonfinite = 0;
    for_each_element(r, [&](double golden, long double truth) {
      ASSERT_EQ(std::isfinite(golden), std::isfinite(truth)) << golden << ' ' << truth << ": " << describe(e);
      nonfinite += !std::isfinite(golden);
    });
    EXPECT_EQ(r.golden_nonfinite, nonfinite);
    ++seen;
  });
  EXPECT_GT(seen, 50);
}

TEST(Golden, AKeyWhoseScoreIsMinusInfinityCountsForNothing) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const Format& f : {bf16, fp64})
    for (const std::vector<double>& k : {std::vector<double>{1, -infinity, 2}, {-infinity, 1, 2}}) {
      Experiment e = sized_experiment(3, 1);
      e.problem.scale = 1;
      e.problem.input = given({3, 3, 1, 1, {1, 1, 1}, k, {1, 1, 3}});
      e.format = f;
      const Result r = compute(e);
      const double expected = (std::exp(1.0) * 1 + std::exp(2.0) * 3) / (std::exp(1.0) + std::exp(2.0));
      EXPECT_NEAR((*r.golden)(2, 0), expected, 1e-14) << name(f);
      EXPECT_NEAR(r.trace.tiles.back().error, std::fabs(r.a(2, 0) - expected), 1e-14) << name(f);
    }
}

TEST(Golden, AnInfiniteValueGivesAnInfiniteOutput) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const Format& f : {bf16, fp64}) {
    Experiment e = sized_experiment(3, 1);
    e.format = f;
    for (const double v : {infinity, -infinity}) {
      e.problem.input = given({3, 3, 1, 1, {1, 1, 1}, {1, 2, 3}, {1, v, 3}});
      EXPECT_EQ((*compute(e).golden)(2, 0), v) << name(f);
    }
    e.problem.input = given({3, 3, 1, 1, {1, 1, 1}, {1, 2, 3}, {-infinity, infinity, 3}});
    EXPECT_TRUE(std::isnan((*compute(e).golden)(2, 0))) << name(f);
  }
}

TEST(Golden, DoesNotDependOnTheMethods) {
  Experiment e = default_experiment();
  e.problem.n = 100;
  const std::uint64_t reference = compute(e).digests.golden;
  for (const char* name : {"tile", "eager", "all_tile"}) {
    e.a.precision = policy(name).precision;
    e.a.block_k = 13;
    EXPECT_EQ(compute(e).digests.golden, reference);
  }
}

}  // namespace
}  // namespace attoscope::golden_test
