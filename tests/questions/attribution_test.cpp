// Attribution: its runs equal runs of `compute`, and its sums are as documented.
#include "kernels/questions/attribution.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

Experiment question(const char* name) {
  Experiment e = testing::sized_experiment(333, 40);
  e.a.precision = policy(name).precision;
  return e;
}

StepError error_of(const Experiment& e) {
  const Deviation d = compute(e).a_error;
  return {d.mean_abs, d.rms, d.nonfinite};
}

void expect_same(const StepError& x, const StepError& y) {
  EXPECT_TRUE(testing::same(x.mean_abs, y.mean_abs)) << x.mean_abs << " is not " << y.mean_abs;
  EXPECT_TRUE(testing::same(x.rms, y.rms)) << x.rms << " is not " << y.rms;
  EXPECT_EQ(x.nonfinite, y.nonfinite);
}

Method bare(Method m) {
  for (int i = 1; i < step_count; ++i) m.precision.steps[static_cast<std::size_t>(i)] = exact;
  return m;
}

TEST(Attribution, EveryNumberIsThatOfARunOfItsOwn) {
  for (const char* const name : {"eager", "all_direct", "base_ops"}) {
    const Experiment e = question(name);
    const Attribution a = attribute(e);
    expect_same(a.total, error_of(e));
    Experiment none = e;
    none.a = bare(e.a);
    expect_same(a.floor, error_of(none));
    for (const StepShare& share : a.steps) {
      Experiment without = e, alone = none;
      without.a.precision[share.source.step] = exact;
      alone.a.precision[share.source.step] = e.a.precision[share.source.step];
      expect_same(share.without, error_of(without));
      expect_same(share.alone, error_of(alone));
      EXPECT_EQ(share.relief, a.total.mean_abs - share.without.mean_abs);
    }
  }
}

TEST(Attribution, ListsEveryRoundingStepButTheInputLargestReliefFirst) {
  const Attribution a = attribute(question("eager"));
  EXPECT_EQ(a.steps.size(), 12U);
  for (const StepShare& s : a.steps) EXPECT_NE(s.source.step, Step::input);
  EXPECT_TRUE(std::is_sorted(a.steps.begin(), a.steps.end(), [](const auto& x, const auto& y) { return x.relief > y.relief; }));
}

TEST(Attribution, OneStepAloneHasAllTheErrorAndNoInteraction) {
  Experiment e = question("exact");
  e.a.precision[Step::P] = to_main;
  const Attribution a = attribute(e);
  ASSERT_EQ(a.steps.size(), 1U);
  expect_same(a.steps[0].alone, a.total);
  expect_same(a.steps[0].without, a.floor);
  EXPECT_NEAR(a.interaction, 0, 1e-6 * a.total.rms);
}

TEST(Attribution, KnowsThePartialOutputsOfRuns) {
  Experiment e = question("exact");
  e.a.algorithm = Algorithm::split_kv;
  e.a.partial = to_format(bf16);
  const Attribution a = attribute(e);
  ASSERT_EQ(a.steps.size(), 1U);
  EXPECT_EQ(name(a.steps[0].source), "partial O");
  EXPECT_GT(a.steps[0].relief, 0);
  expect_same(a.steps[0].alone, a.total);
  expect_same(a.steps[0].without, a.floor);
  e.a.partial = exact;
  expect_same(a.floor, error_of(e));
}

TEST(Attribution, KnowsTheRoundingOfSmoothedAndRotatedTensors) {
  for (bool Scalings::* const change : {&Scalings::smooth_K, &Scalings::smooth_V, &Scalings::hadamard}) {
    Experiment e = question("exact");
    e.problem.d = 32;
    e.a.scaling.*change = true;
    e.a.scaling.smoothed = to_format(bf16);
    const Attribution a = attribute(e);
    ASSERT_EQ(a.steps.size(), 1U);
    EXPECT_EQ(name(a.steps[0].source), "smoothed");
    EXPECT_GT(a.steps[0].relief, 0);
    expect_same(a.steps[0].alone, a.total);
    expect_same(a.steps[0].without, a.floor);
    e.a.scaling.smoothed = exact;
    expect_same(a.floor, error_of(e));
  }
  Experiment unused = question("exact");
  unused.a.scaling.smoothed = to_format(bf16);
  EXPECT_TRUE(attribute(unused).steps.empty());
}

TEST(Attribution, NoStepNoShare) {
  const Attribution a = attribute(question("exact"));
  EXPECT_TRUE(a.steps.empty());
  expect_same(a.total, a.floor);
  EXPECT_NEAR(a.interaction, 0, 1e-6 * a.total.rms);
}

TEST(Attribution, InteractionIsWhatIndependentStepsLeaveUnexplained) {
  const Attribution a = attribute(question("eager"));
  double square = a.floor.rms * a.floor.rms;
  for (const StepShare& s : a.steps) square += s.alone.rms * s.alone.rms - a.floor.rms * a.floor.rms;
  EXPECT_DOUBLE_EQ(a.combined_rms, std::sqrt(square));
  EXPECT_DOUBLE_EQ(a.interaction, a.total.rms - a.combined_rms);
}

TEST(Attribution, TheStepBehindNaNComesFirst) {
  Experiment e = question("eager");
  e.a.precision[Step::shifted] = to_format({2, 1, Overflow::nan});  // beyond 3: NaN
  const Attribution a = attribute(e);
  EXPECT_GT(a.total.nonfinite, 0);
  EXPECT_EQ(a.steps[0].source.step, Step::shifted);
  EXPECT_EQ(a.steps[0].without.nonfinite, 0);
}

TEST(Attribution, KeepsTheWorkingTypeWhereTheOnlyWideStepIsMadeExact) {
  Experiment e = question("hw");
  e.a.precision[Step::l] = to_format(fp64);
  Experiment none = e;
  none.a = bare(e.a);
  none.b.precision[Step::l] = to_format(fp64);  // forces double
  expect_same(attribute(e).floor, error_of(none));
}

TEST(Attribution, RemembersAndStops) {
  const Experiment e = question("hw");
  ComputeCache cache;
  compute(e, {.cancelled = {}, .cache = &cache});
  expect_same(attribute(e, {.cancelled = {}, .cache = &cache}).total, error_of(e));
  EXPECT_THROW(attribute(e, {.cancelled = [] { return true; }, .cache = &cache}), Stopped);
  expect_same(attribute(e, {.cancelled = {}, .cache = &cache}).total, error_of(e));
}

TEST(Attribution, ErrorsOfLeavesOutOnlyWasserstein) {
  const Experiment e = question("tile");
  const Deviation full = compute(e).a_error, cheap = errors_of(e, std::vector{e.a}).at(0);
  EXPECT_EQ(cheap.max_abs, full.max_abs);
  EXPECT_EQ(cheap.std, full.std);
  EXPECT_EQ(cheap.max_ulp, full.max_ulp);
  EXPECT_EQ(cheap.ulps.counts, full.ulps.counts);
  EXPECT_TRUE(std::isnan(cheap.wasserstein));
}

/// Number of times that `work` checks for cancellation: a measure of its amount, equal on every machine.
int amount(auto work) {
  std::atomic<int> asked = 0;
  work(Options{.cancelled = [&] { return ++asked, false; }, .threads = 1});
  return asked;
}

TEST(Attribution, CostsNoMoreThanTheRunsItIsMadeOf) {
  const Experiment e = question("eager");
  const auto runs = [&](std::size_t count) {
    return amount([&](const Options& o) { errors_of(e, std::vector(count, e.a), o); });
  };
  const int one = runs(1), another = runs(2) - one;  // both share inputs and golden value
  ASSERT_GT(another, 0);
  EXPECT_LE(amount([&](const Options& o) { attribute(e, o); }), one + (2 * 12 + 1) * another);
}

}  // namespace
}  // namespace attoscope
