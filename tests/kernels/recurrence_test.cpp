/// Laws of the recurrence in every format: policies, known ratios, limits, invariances.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/support/support.h"

namespace attoscope::recurrence_test {
namespace {

using testing::Dice;
using testing::small_experiment;

/// Roundings and flags of the policies of section 3, as the design writes them.
struct PolicyText {
  const char* name;
  std::string_view steps;
  Algorithm algorithm;
  bool accumulate_in_O = false;
};
constexpr auto all_steps = "every step";
constexpr PolicyText policy_table[] = {
    {"hw", "input P output", Algorithm::flash2, true},
    {"tile", "input m l O output", Algorithm::flash2},
    {"eager", "input S m shifted e P tile_sum alpha rescaled l PV O output", Algorithm::flash2},
    {"all_tile", all_steps, Algorithm::flash2},
    {"all_direct", all_steps, Algorithm::flash2, true},
    {"exact", "input", Algorithm::flash2},
    {"base_eager", "input S P output", Algorithm::three_pass},
    {"base_hw", "input P output", Algorithm::three_pass},
    {"base_ops", "input S m shifted e P tile_sum l output", Algorithm::three_pass},
    {"base_all", all_steps, Algorithm::three_pass},
    {"base_floor", "input output", Algorithm::three_pass},
};

TEST(Policies, RoundWhereTheDesignSays) {
  ASSERT_EQ(policies().size(), std::size(policy_table));
  for (const PolicyText& expected : policy_table) {
    const Policy& p = policy(expected.name);
    std::string steps, every;
    for (int i = 0; i < step_count; ++i) {
      every.append(every.empty() ? "" : " ").append(name(static_cast<Step>(i)));
      const Rounding& r = p.precision.steps[static_cast<std::size_t>(i)];
      EXPECT_NE(r.kind, Rounding::Kind::format) << p.name;
      if (r.kind == Rounding::Kind::main) steps.append(steps.empty() ? "" : " ").append(name(static_cast<Step>(i)));
    }
    EXPECT_EQ(steps, expected.steps == all_steps ? every : expected.steps) << p.name;
    EXPECT_EQ(p.algorithm, expected.algorithm) << p.name;
    EXPECT_EQ(p.precision.accumulate_in_O, expected.accumulate_in_O) << p.name;
    EXPECT_FALSE(p.precision.sum_rounded_P) << p.name;
    EXPECT_EQ(policy_name(p.precision, p.algorithm), p.name);
  }
  EXPECT_EQ(policy_name({}, Algorithm::flash2), "");
  EXPECT_THROW(policy("fa7"), std::invalid_argument);
}

/// Checks the mean over seeds 1 to 5 of a's mean absolute error over base_eager's, N(0,1), N=1024, d=64, block_k=64, bf16.
void expect_ratio(const char* name, double least, double most) {
  Experiment e = testing::sized_experiment(1024, 64);
  e.a = {.algorithm = Algorithm::flash2, .precision = policy(name).precision};
  e.b = {.algorithm = Algorithm::three_pass, .precision = policy("base_eager").precision};
  double sum = 0;
  for (e.problem.seed = 1; e.problem.seed <= 5; ++e.problem.seed) {
    const Result r = compute(e);
    sum += r.a_error.mean_abs / r.b_error.mean_abs;
  }
  ::testing::Test::RecordProperty("ratio", std::to_string(sum / 5));
  EXPECT_GE(sum / 5, least);
  EXPECT_LE(sum / 5, most);
}

TEST(Ratios, Fp32StateHalvesTheErrorOfTheBaseline) { expect_ratio("hw", 0.48, 0.52); }
TEST(Ratios, RoundingEveryTensorNearlyDoublesIt) { expect_ratio("eager", 1.75, 1.97); }

TEST(Limits, OneTokenAttendsToItself) {
  for (const Policy& p : policies()) {
    Experiment e = small_experiment(bf16, 1, 3);
    e.a = {.algorithm = p.algorithm, .precision = p.precision};
    const Result r = compute(e);
    for (int col = 0; col < 3; ++col) EXPECT_EQ(r.a(0, col), r.inputs->v[static_cast<std::size_t>(col)]) << p.name;
  }
}

/// Integer queries and keys whose scores every step holds exactly; a last column adds `constant` to all scores of a row.
Experiment with_added_constant(double constant) {
  constexpr int n = 60, d = 9;
  Dice dice(7);
  Tensors t = Tensors::shaped(AttentionShape::square(n, d));
  for (int row = 0; row < n; ++row)
    for (int col = 0; col < d; ++col) {
      const bool last = col == d - 1;
      t.q.push_back(last ? 1 : dice.between(-3, 3));
      t.k.push_back(last ? constant : dice.between(-3, 3));
      t.v.push_back(last ? 0 : static_cast<float>(dice.normal()));
    }
  Experiment e = small_experiment(fp32, n, d);
  e.problem.scale = 0.125;
  e.problem.input = testing::given(std::move(t));
  return e;
}

TEST(Invariance, AConstantAddedToExactScoresChangesNoBit) {
  const Result plain = compute(with_added_constant(0)), lifted = compute(with_added_constant(1000));
  EXPECT_EQ(plain.digests.a, lifted.digests.a);
  EXPECT_EQ(plain.digests.b, lifted.digests.b);
  EXPECT_EQ(plain.digests.golden, lifted.digests.golden);
}

TEST(Invariance, TheOrderOfWholeTilesMattersOnlyToRounding) {
  Experiment e = with_added_constant(0);
  const Result before = compute(e);
  Tensors t = *e.problem.input.tensors;
  const auto swap_halves = [](std::vector<double>& x) {
    std::rotate(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  };
  swap_halves(t.k);
  swap_halves(t.v);
  e.problem.input = testing::given(std::move(t));
  const Result after = compute(e);
  for (std::size_t i = 0; i < before.a.values.size(); ++i) {
    EXPECT_NEAR(before.golden->values[i], after.golden->values[i], 1e-15);
    EXPECT_NEAR(before.a.values[i], after.a.values[i], 1e-6);
  }
}

}  // namespace
}  // namespace attoscope::recurrence_test
