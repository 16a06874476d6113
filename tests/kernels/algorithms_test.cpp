/// Relations of the algorithms and their options to one another and to the golden value, independent of plain::.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/support/seeds.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

// --- exact steps give the golden value --------------------------------------------------------------------------------

/// A change of the problem or the method that a correct algorithm follows.
struct Change {
  const char* name;
  std::function<void(Experiment&)> apply;
};
const Change changes[] = {
    {"nothing", [](Experiment&) {}},
    {"sink", [](Experiment& e) { e.problem.sink = 1.5; }},
    {"softcap", [](Experiment& e) { e.problem.softcap = 2; }},
    {"alibi", [](Experiment& e) { e.problem.alibi = 0.125; }},
    {"sink, softcap, alibi",
     [](Experiment& e) {
       e.problem.sink = -0.5;
       e.problem.softcap = 4;
       e.problem.alibi = 0.0625;
     }},
    {"exp2", [](Experiment& e) { e.a.exponential = ExponentialKind::exp2; }},
    {"exp2, sink",
     [](Experiment& e) {
       e.a.exponential = ExponentialKind::exp2;
       e.problem.sink = 2;
     }},
    {"exp2, softcap, alibi",
     [](Experiment& e) {
       e.a.exponential = ExponentialKind::exp2;
       e.problem.softcap = 2;
       e.problem.alibi = 0.125;
     }},
    {"p_exponent, sink",
     [](Experiment& e) {
       e.a.p_exponent = 8;
       e.problem.sink = 1;
     }},
    {"kahan_l", [](Experiment& e) { e.a.kahan_l = true; }},
    {"pairwise", [](Experiment& e) { e.a.order = SumOrder::pairwise; }},
    {"interleaved", [](Experiment& e) { e.a.order = SumOrder::interleaved; }},
    {"reverse_keys, sink, alibi",
     [](Experiment& e) {
       e.a.reverse_keys = true;
       e.problem.sink = 0;
       e.problem.alibi = 0.25;
     }},
    {"tie_beta",
     [](Experiment& e) {
       e.a.tie_beta = 2;
       e.problem.input.kind = InputKind::ties;
     }},
};

TEST(Algorithms, WithExactStepsAreTheTruthToTheWorkingTypesRounding) {
  double worst = 0;
  for (const Format& f : {fp32, fp64})
    for (const Algorithm algorithm : emulated_algorithms)
      for (const auto mask : {Mask::Kind::none, Mask::Kind::causal, Mask::Kind::window})
        for (const Change& change : changes) {
          Experiment e = small_experiment(f);
          e.problem.mask = {mask, 30};
          e.a = {.algorithm = algorithm, .block_k = 16, .splits = 3};
          change.apply(e);
          const Result r = compute(e);
          const double units = r.a_error.max_abs / epsilon(f);
          EXPECT_LT(units, 16) << name(f) << ' ' << name(algorithm) << " mask " << int(mask) << ", " << change.name;
          EXPECT_EQ(r.a_error.nonfinite, 0);
          worst = std::max(worst, units);
        }
  RecordProperty("worst_epsilons", std::to_string(worst));
  std::cout << "worst: " << worst << " epsilon\n";
}

// --- algorithms that are equal ----------------------------------------------------------------------------------------

/// Expects of random experiments that a has the bits of b, which is a after `change`.
void expect_same_bits(int first_seed, const std::function<void(Experiment&)>& prepare,
                      const std::function<void(Method&)>& change) {
  with_seeds(first_seed, experiments(160), [&](Dice& dice) {
    Experiment e = random_experiment(dice);
    prepare(e);
    e.b = e.a;
    change(e.b);
    drop_impossible_accumulators(e);
    const Result r = compute(e);
    ASSERT_EQ(r.digests.a, r.digests.b) << describe(e);
  });
}

TEST(Algorithms, Flash4WithoutPatienceIsFlash2) {
  expect_same_bits(
      1000,
      [](Experiment& e) {
        e.a.algorithm = Algorithm::flash4;
        e.a.tau = 0;
      },
      [](Method& b) { b.algorithm = Algorithm::flash2; });
}

TEST(Algorithms, OneSplitIsFlash2) {
  expect_same_bits(
      2000,
      [](Experiment& e) {
        e.a.algorithm = Algorithm::split_kv;
        e.a.splits = 1;
      },
      [](Method& b) { b.algorithm = Algorithm::flash2; });
}

TEST(Algorithms, OnOneTileOnlineSoftmaxIsThreePass) {
  expect_same_bits(
      3000,
      [](Experiment& e) {
        e.a.algorithm = Algorithm::two_pass;
        e.a.block_k = max_tile;
        e.a.kahan_l = false;  // three_pass has no l to carry a lost part to
      },
      [](Method& b) { b.algorithm = Algorithm::three_pass; });
}

TEST(Algorithms, OnOneTileStaleMaxAndSplitsDoNotMatter) {
  for (const Algorithm other : {Algorithm::flash4, Algorithm::split_kv})
    expect_same_bits(
        4000,
        [](Experiment& e) {
          e.a.algorithm = Algorithm::flash2;
          e.a.block_k = key_count(e.problem);
        },
        [other](Method& b) { b.algorithm = other; });
}

TEST(Algorithms, TilesBeyondNActAsN) {
  for (const int block_k : {91, max_tile})  // random experiments have at most 90 keys
    expect_same_bits(
        5000, [](Experiment& e) { e.a.block_k = key_count(e.problem); }, [block_k](Method& b) { b.block_k = block_k; });
}

// --- options ----------------------------------------------------------------------------------------------------------

TEST(Options, APowerOfTwoInPChangesNoBitOfExactSteps) {
  for (const Algorithm algorithm :
       {Algorithm::three_pass, Algorithm::two_pass, Algorithm::flash1, Algorithm::flash2, Algorithm::flash4}) {
    Experiment e = small_experiment();
    e.problem.sink = 0.5;
    e.a = {.algorithm = algorithm, .block_k = 16};
    e.b = e.a;
    e.b.p_exponent = 8;
    const Result r = compute(e);
    EXPECT_EQ(r.digests.a, r.digests.b) << name(algorithm);
  }
}

/// All scores are 0 and V is 1: l of the last tile counts the keys, O as well.
Experiment counting(int n) {
  Experiment e = small_experiment(bf16, n, 4);
  e.problem.input.kind = InputKind::constant;
  e.problem.input.value = 0;
  e.a.precision = {};
  e.a.block_k = n;
  return e;
}
double last_l(const Experiment& e) { return compute(e).trace.tiles.back().l; }

TEST(Options, ARowSumInBf16StallsUnlessItsOrderOrKahanSavesIt) {
  Experiment e = counting(1000);
  e.a.precision[Step::l_step] = to_main;
  EXPECT_EQ(last_l(e), 256);  // 256 + 1 is a tie that goes to even
  e.a.kahan_l = true;
  EXPECT_NEAR(last_l(e), 1000, 4);
  e.a.kahan_l = false;
  e.a.order = SumOrder::pairwise;
  EXPECT_EQ(last_l(e), 1000);
  e.a.order = SumOrder::interleaved;
  e.a.sum_lanes = 8;
  EXPECT_NEAR(last_l(e), 1000, 8);
}

TEST(Options, KahanCarriesTheLostPartFromTileToTile) {
  Experiment e = counting(3000);
  e.problem.rows = 16;
  e.a.block_k = 1;
  e.a.precision[Step::l] = to_main;
  EXPECT_EQ(last_l(e), 256);
  e.a.kahan_l = true;
  EXPECT_NEAR(last_l(e), 3000, 8);
}

TEST(Options, WithOnesInVASumOfRoundedPIsItsOwnNumerator) {
  Experiment e = small_experiment(bf16, 200, 16);
  e.problem.input.kind = InputKind::ones;
  e.a.precision[Step::input] = e.a.precision[Step::P] = to_main;
  e.a.precision[Step::output] = exact;
  e.a.precision.accumulate_in_O = true;
  e.a.precision.sum_rounded_P = true;
  const auto is_one = [](double x) { return x == 1; };
  EXPECT_TRUE(std::ranges::all_of(compute(e).a.values, is_one));
  e.a.precision.sum_rounded_P = false;
  EXPECT_FALSE(std::ranges::any_of(compute(e).a.values, is_one));
}

TEST(Options, Exp2LeavesAResidualAtTheMaxThatExpDoesNot) {
  Experiment e = small_experiment(fp32, 40, 8);
  e.problem.input.kind = InputKind::tensors;
  e.problem.input =
      given({40, 40, 8, 8, std::vector<double>(320, 300.3), std::vector<double>(320, 300.7), std::vector<double>(320, 1.0)});
  e.a.precision = {};
  EXPECT_EQ(compute(e).trace.tiles[0].p_max, 1);
  e.a.exponential = ExponentialKind::exp2;
  const double p_max = compute(e).trace.tiles[0].p_max;  // the product m*c is rounded to about 2e5 * 2^-24
  EXPECT_NE(p_max, 1);
  EXPECT_NEAR(p_max, 1, 0.02);
}

TEST(Options, ATiedMaxMovesAwayFromItsTies) {
  const auto max_used = [](double key, double beta) {
    Experiment e = small_experiment(fp32, 3, 1);
    e.problem.scale = 1;
    e.problem.input = given({3, 3, 1, 1, {1, 1, 1}, {key, key, key - 1}, {1, 2, 3}});
    e.a.precision = {};
    e.a.tie_beta = beta;
    return compute(e).trace.tiles[0].max_used;
  };
  EXPECT_EQ(max_used(1.5, 0), 1.5);
  EXPECT_EQ(max_used(1.5, 8), 12);
  EXPECT_EQ(max_used(-1.5, 0), -1.5);
  EXPECT_EQ(max_used(-1.5, 8), 0);
  EXPECT_EQ(max_used(0, 8), 0);
}

TEST(Options, APolynomialOfDegree3CostsWhatFlashAttention4SaysOfIt) {
  Experiment e = small_experiment(fp32, 300, 32);
  e.a.precision = {};
  e.a.exponential = ExponentialKind::exp2;
  double before = 0;
  for (int degree = 5; degree >= 1; --degree) {
    e.a.exp2_degree = degree;
    const double error = compute(e).a_error.max_abs;
    EXPECT_GT(error, 4 * before) << degree;
    before = error;
    if (degree != 3) continue;
    EXPECT_LT(error, 2 * 8.8e-5);
    EXPECT_GT(error, 1e-6);
  }
}

}  // namespace
}  // namespace attoscope
