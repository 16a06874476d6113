// Parts that `compute` recomputes after a change of an experiment; reused parts equal recomputed ones.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "kernels/bench/stages.h"
#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "tests/support/same_answer.h"
#include "tests/support/support.h"

namespace attoscope::recomputed_test {
namespace {

using namespace testing;  // attoscope::testing

/// A change of an experiment and the parts recomputed after it.
struct Change {
  const char* name;
  std::function<void(Experiment&)> change;
  const char* again;
};

const std::vector<Change> changes{
    {"nothing", [](Experiment&) {}, ""},
    {"traced row", [](Experiment& e) { e.problem.traced_row = 3; }, ""},
    {"block_q", [](Experiment& e) { e = with_block_q(e, 16); }, ""},
    {"what is loaded", [](Experiment& e) { e.loaded.file = "o.npy"; }, ""},
    {"step of a", [](Experiment& e) { e.a.precision[Step::S] = to_main; }, "a"},
    {"tiles of a", [](Experiment& e) { e.a.block_k = 7; }, "a"},
    {"option of a", [](Experiment& e) { e.a.exponential = ExponentialKind::exp2; }, "a"},
    {"sums of a", [](Experiment& e) { e.a.accumulator.pv = Accumulator::f64; }, "a"},
    {"algorithm of b", [](Experiment& e) { e.b.algorithm = Algorithm::flash1; }, "b"},
    {"inputs of b", [](Experiment& e) { e.b.precision[Step::input] = to_format(e4m3); }, "b"},
    {"order of b's keys", [](Experiment& e) { e.b.reverse_keys = true; }, "b"},
    {"D, where inputs have a format of their own", [](Experiment& e) { e.format = e5m2; }, "a b"},
    {"mask", [](Experiment& e) { e.problem.mask.kind = Mask::Kind::causal; }, "golden a b"},
    {"scale", [](Experiment& e) { e.problem.scale = 0.3; }, "golden a b"},
    {"seed", [](Experiment& e) { ++e.problem.seed; }, "golden a b"},
    {"input step of a", [](Experiment& e) { e.a.precision[Step::input] = to_format(e5m2); }, "golden a b"},
    {"rows", [](Experiment& e) { e.problem.rows = 9; }, "golden a b"},
};

Experiment start() {
  Experiment e = small_experiment(bf16, 50, 12);
  e.a.block_k = 8;
  e.a.precision[Step::input] = to_format(fp16);
  return e;
}

TEST(Recomputed, IsWhatTheControlChanges) {
  for (const Change& c : changes) {
    SCOPED_TRACE(c.name);
    ComputeCache cache;
    Experiment e = start();
    EXPECT_EQ(computed_parts(compute(e, {.cache = &cache}).timing), "golden a b");
    c.change(e);
    const Result changed = compute(e, {.cache = &cache});
    EXPECT_EQ(computed_parts(changed.timing), c.again);
    expect_same_answer(changed, compute(e));
    const Result back = compute(start(), {.cache = &cache});
    EXPECT_EQ(computed_parts(back.timing), c.again);
    expect_same_answer(back, compute(start()));
  }
}

std::vector<UpdatePart> parts_of(const Timing& t) {
  std::vector<UpdatePart> parts;
  for (std::size_t i = 0; i < t.busy.size(); ++i)
    if (t.busy[i] > 0) parts.push_back(static_cast<UpdatePart>(i));
  return parts;
}

std::string names_of(const std::vector<UpdatePart>& parts) {
  std::string names;
  for (const UpdatePart p : parts) names += std::string(update_part_names[p]) + "; ";
  return names;
}

TEST(Recomputed, IsWhatTheTableOfControlsSays) {
  for (const Control& control : controls()) {
    SCOPED_TRACE(control.name);
    ComputeCache cache;
    Experiment e = small_experiment(bf16, 150, 12);
    compute(e, {.cache = &cache});
    for (int i = 0; i < 3; ++i) {
      control.change(e);
      const Result changed = compute(e, {.cache = &cache});
      EXPECT_EQ(names_of(parts_of(changed.timing)), names_of(control.again));
      expect_same_answer(changed, compute(e));
    }
  }
}

/// Leaving out an optional part changes nothing else; requesting it later costs only its own time.
TEST(Recomputed, IsWhatWasNotWantedBefore) {
  using enum UpdatePart;
  const Experiment e = small_experiment(bf16, 150, 12);
  const Result all = compute(e);
  for (const bool b_changes : {false, true}) {
    ComputeCache cache;
    Experiment shown = e;
    if (b_changes) shown.b.block_k = 5;
    compute(shown, {.cache = &cache, .wanted = {false, false}});
    const Result part = compute(e, {.cache = &cache, .wanted = {false, false}});
    EXPECT_EQ(part.holds, (Wanted{false, false}));
    EXPECT_EQ(part.timing.busy[static_cast<std::size_t>(sorted)], 0);
    EXPECT_TRUE(std::isnan(part.a_error.wasserstein) && std::isnan(part.b_error.wasserstein));
    EXPECT_TRUE(part.trace.tiles.empty());
    EXPECT_EQ(part.trace.row, all.trace.row);
    EXPECT_EQ(part.digests.golden, all.digests.golden);
    EXPECT_EQ(part.digests.a, all.digests.a);
    EXPECT_EQ(part.digests.b, all.digests.b);
    EXPECT_EQ(part.a_error.mean_abs, all.a_error.mean_abs);
    EXPECT_EQ(part.rescales.per_tile, all.rescales.per_tile);
    const Result more = compute(e, {.cache = &cache, .wanted = {true, false}});
    EXPECT_EQ(names_of(parts_of(more.timing)), names_of({sorted, distances}));
    const Result whole = compute(e, {.cache = &cache});
    EXPECT_EQ(names_of(parts_of(whole.timing)), names_of({recurrence}));
    expect_same_answer(whole, all);
    const Result again = compute(e, {.cache = &cache, .wanted = {false, false}});
    EXPECT_EQ(names_of(parts_of(again.timing)), "");
    expect_same_answer(again, all);
  }
}

TEST(Recomputed, ManyChangesInARowAreAnsweredAsIfNothingWereKnown) {
  Dice dice(3);
  ComputeCache cache;
  Experiment e = start();
  for (int i = 0; i < experiments(400); ++i) {
    if (dice.one_in(25)) e = random_experiment(dice);
    Experiment other = random_experiment(dice);
    if (dice.one_in(5)) e.a = other.a;
    if (dice.one_in(5)) e.b = other.b;
    if (dice.one_in(5)) std::swap(e.a, e.b);
    if (dice.one_in(6)) make_stochastic(e.b, dice, 3);
    if (dice.one_in(4)) ++e.problem.seed;
    if (dice.one_in(2)) e.problem.traced_row = dice.between(0, e.problem.n - 1);
    if (dice.one_in(9)) dice.any(std::vector(changes.begin() + 1, changes.end())).change(e);
    drop_impossible_accumulators(e);
    e.problem.traced_row = std::min(e.problem.traced_row, e.problem.n - 1);
    expect_same_answer(compute(e, {.cache = &cache}), compute(e));
    if (::testing::Test::HasFailure()) FAIL() << i << ": " << describe(e);
  }
}

TEST(Recomputed, AStoppedRunLeavesWhatWasKnown) {
  Experiment e = start();
  for (int stop_at = 1; stop_at < 60; ++stop_at) {
    ComputeCache cache;
    compute(e, {.cache = &cache});
    Experiment other = e;
    other.b.block_k = 5;
    other.problem.traced_row = 7;
    int asked = 0;
    try {
      compute(other, {.cancelled = [&] { return ++asked > stop_at; }, .cache = &cache, .threads = 1});
    } catch (const Stopped&) {
    }
    expect_same_answer(compute(e, {.cache = &cache}), compute(e));
    expect_same_answer(compute(other, {.cache = &cache}), compute(other));
  }
}

}  // namespace
}  // namespace attoscope::recomputed_test
