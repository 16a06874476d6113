// Merges of partial outputs, and the log-sum-exp that each method stores.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "kernels/compute.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/settings.h"
#include "tests/kernels/is_plain.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

using testing::is_plain;

Experiment merged(int n, int n_k, const char* policy_name, const Format& format, std::uint64_t seed) {
  Experiment e = default_experiment();
  e.problem.n = n, e.problem.n_k = n_k, e.problem.d = 16, e.problem.seed = seed, e.problem.input = {};
  e.format = format;
  e.a = {.algorithm = Algorithm::split_kv, .block_q = 16, .block_k = 16, .splits = 3};
  e.a.precision = policy(policy_name).precision;
  return e;
}

TEST(Merges, HaveThePlainBits) {
  const Mask masks[]{{}, {Mask::Kind::causal}, {Mask::Kind::window, 24}, {Mask::Kind::padding, 30}};
  int k = 0;
  for (const MergeRule merge : {MergeRule::weights, MergeRule::sigmoid})
    for (const StoredBase base : {StoredBase::e, StoredBase::two, StoredBase::two_as_e, StoredBase::last_two_as_e})
      for (const Rounding& partial : {exact, to_main, to_format(bf16)})
        for (const char* policy_name : {"hw", "tile", "all_tile"})
          for (const Mask& mask : masks) {
            const Format format = ++k % 3 == 0 ? fp32 : k % 3 == 1 ? bf16 : fp16;
            Experiment e = merged(60, k % 2 == 0 ? 60 : 100, policy_name, format, static_cast<std::uint64_t>(k));
            e.problem.mask = mask;
            e.a.merge = merge, e.a.lse_base = base, e.a.partial = partial, e.a.splits = 1 + k % 5;
            if (k % 4 == 1) e.problem.sink = 0.5;
            if (k % 4 == 2) e.a.exponential = ExponentialKind::exp2;
            e.b = e.a;
            const Result r = compute(e);
            ASSERT_TRUE(is_plain(r, e.a, r.a)) << "k " << k << ", merge " << static_cast<int>(merge) << ", base "
                                               << static_cast<int>(base) << ", " << policy_name;
          }
}

TEST(Merges, HaveTheSameBitsOnEveryInstructionSet) {
  for (const bool stochastic : {false, true}) {
    Experiment e = merged(70, 200, "all_tile", bf16, 3);
    e.a.merge = MergeRule::sigmoid, e.a.lse_base = StoredBase::two, e.a.splits = 5;
    e.a.partial = {Rounding::Kind::format, fp16, stochastic};
    const Digests first = compute(e, {.isa = "sse2"}).digests;
    for (const char* isa : testing::own_instruction_sets()) EXPECT_EQ(compute(e, {.isa = isa}).digests.a, first.a) << isa;
    e.problem.seed = 4;
    EXPECT_NE(compute(e, {.isa = "sse2"}).digests.a, first.a);
  }
}

/// A log-sum-exp in base 2 that is read as base 2 gives no error, and settings of merges do not change a single run.
TEST(Merges, RightOnesAreNear) {
  for (const MergeRule merge : {MergeRule::weights, MergeRule::sigmoid})
    for (const StoredBase base : {StoredBase::e, StoredBase::two}) {
      Experiment e = merged(64, 256, "hw", bf16, 5);
      e.a.precision[Step::P] = e.a.precision[Step::output] = exact;
      e.a.merge = merge, e.a.lse_base = base;
      EXPECT_LT(compute(e).a_error.max_abs, 2e-6) << static_cast<int>(base);
    }
}

/// sglang#40903: a suffix of 128 keys whose log-sum-exp is in base 2, behind 4096 keys.
TEST(Merges, BaseTwoReadAsNaturalIsSeen) {
  Experiment e = merged(32, 4224, "hw", bf16, 6);
  e.problem.d = 64;
  e.a.block_k = 4096, e.a.splits = 2, e.a.lse_base = StoredBase::last_two_as_e;
  e.b = e.a, e.b.lse_base = StoredBase::e;
  const Result r = compute(e);
  EXPECT_GT(r.a_error.max_abs, 0.04);
  EXPECT_LT(r.a_error.max_abs, 0.3);
  EXPECT_LT(r.b_error.max_abs, 0.001);
}

TEST(Merges, TwoEmptyStatesAreNaNByThatRule) {
  Experiment e = merged(60, 60, "hw", bf16, 7);
  e.problem.mask = {Mask::Kind::padding, 20};
  e.b = e.a, e.a.empty = EmptyRule::nan;
  const Result r = compute(e);
  EXPECT_EQ(r.a_error.nonfinite, 20 * 16);
  EXPECT_EQ(r.b_error.nonfinite, 0);
  e.a.splits = 1;
  EXPECT_EQ(compute(e).a_error.nonfinite, 0) << "nothing is merged";
}

/// Files leave out settings of merges with default values; other values read back.
TEST(Merges, SettingsAreKeptWhereTheyDiffer) {
  Method m;
  for (const char* key : {"partial", "lse_base", "merge", "empty"}) EXPECT_FALSE(find(settings(m), key)->kept) << key;
  for (const auto& [key, value] :
       {std::pair{"partial", "bf16"}, {"lse_base", "last_2_as_e"}, {"merge", "sigmoid"}, {"empty", "nan"}}) {
    EXPECT_TRUE(set(*find(settings(m), key), value)) << key;
    EXPECT_TRUE(find(settings(m), key)->kept) << key;
    EXPECT_EQ(text(*find(settings(m), key)), value);
  }
  EXPECT_FALSE(set(*find(settings(m), "lse_base"), "10"));
}

/// Golden's log-sum-exp is the logarithm of plain sums, and each method's is near it in its own base.
TEST(LogSumExp, OfEveryAlgorithmIsNearGolden) {
  for (const Algorithm algorithm : emulated_algorithms)
    for (const StoredBase base : {StoredBase::e, StoredBase::two})
      for (const ExponentialKind exponential : {ExponentialKind::natural, ExponentialKind::exp2}) {
        Experiment e = merged(50, 90, "hw", bf16, 8);
        e.problem.mask = {Mask::Kind::padding, 60};
        e.problem.sink = 1;
        e.a.algorithm = algorithm, e.a.exponential = exponential, e.a.lse_base = base, e.a.p_exponent = 4;
        const Result r = compute(e);
        ASSERT_EQ(r.golden_lse.size(), 50u);
        for (std::size_t i = 0; i < r.golden_lse.size(); ++i) {
          const Keys keys = visible_keys(e.problem, static_cast<int>(i));
          double sum = std::exp(1.0);
          for (int j = keys.first; j < keys.end; ++j) {
            double s = 0;
            for (std::size_t c = 0; c < 16; ++c)
              s += r.inputs->q[i * 16 + c] * r.inputs->k[static_cast<std::size_t>(j) * 16 + c];
            sum += std::exp(s * scale_of(e.problem));
          }
          if (keys.empty()) {
            EXPECT_EQ(r.golden_lse[i], -std::numeric_limits<double>::infinity());
            EXPECT_EQ(r.a_lse[i], -std::numeric_limits<double>::infinity());
            continue;
          }
          EXPECT_NEAR(r.golden_lse[i], std::log(sum), 1e-12);
          EXPECT_NEAR(r.a_lse[i], std::log(sum) * (base == StoredBase::two ? std::numbers::log2e : 1), 3e-6) << name(algorithm);
        }
      }
}

TEST(LogSumExp, IsKeptWithAKnownOutput) {
  ComputeCache cache;
  Experiment e = merged(40, 40, "hw", bf16, 9);
  const Result first = compute(e, {.cache = &cache});
  e.b.block_k = 8;
  const Result second = compute(e, {.cache = &cache});
  EXPECT_EQ(first.a_lse, second.a_lse);
  EXPECT_EQ(second.b_lse.size(), 40u);
}

}  // namespace
}  // namespace attoscope
