/// Stochastic rounding: one of the two neighbours, right on average, and reproducible.
#include <gtest/gtest.h>

#include <set>

#include "kernels/arithmetic/random.h"
#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// The numbers of f next to x, further from 0 and nearer to 0; both are x if f holds x.
template <class T>
struct Neighbours {
  T nearer, further;
};
template <class T>
Neighbours<T> neighbours(const Format& f, T x) {
  const int quantum = std::max(std::ilogb(x), min_exponent(f)) - f.mantissa_bits;
  const long double units = std::ldexp(static_cast<long double>(x), -quantum);
  const auto number = [&](long double whole) {
    const long double y = std::ldexp(whole, quantum);
    return std::fabs(y) > largest<double>(f) ? overflowed<T>(f, y < 0) : std::copysign(static_cast<T>(y), x);
  };
  return {number(std::trunc(units)), number(units < 0 ? std::floor(units) : std::ceil(units))};
}

template <class T>
void expect_neighbours() {
  Dice dice(11);
  int wrong = 0;
  for_each_format([&](const Format& f) {
    if (f.mantissa_bits > Layout<T>::mantissa_bits) return;
    for (const T x : hard_values<T>(f, dice)) {
      if (!std::isfinite(x) || x == 0 || !std::isfinite(largest<T>(f))) continue;
      const Neighbours<T> n = neighbours(f, x);
      for (int i = 0; i < 4; ++i) {
        const T y = round_stochastic(f, x, i == 0 ? 0 : i == 1 ? ~std::uint64_t{0} : dice.bits());
        const bool one_of_two = same(y, n.nearer) || same(y, n.further);
        if (!one_of_two && wrong++ < 10)
          ADD_FAILURE() << name(f) << " takes " << std::hexfloat << x << " to " << y << ", expected " << n.nearer << " or "
                        << n.further;
      }
      if (!same(round_stochastic(f, x, 0), n.nearer) && wrong++ < 10)
        ADD_FAILURE() << name(f) << ": dice 0 takes " << std::hexfloat << x << " away from 0";
    }
  });
  EXPECT_EQ(wrong, 0);
}
TEST(RoundStochastic, OfAFloatIsOneOfItsNeighbours) { expect_neighbours<float>(); }
TEST(RoundStochastic, OfADoubleIsOneOfItsNeighbours) { expect_neighbours<double>(); }

TEST(RoundStochastic, KeepsWhatTheFormatHoldsAndTreatsTheRestAsRoundDoes) {
  Dice dice(12);
  for (const Format& f : {bf16, fp16, e4m3, e5m2})
    for (int i = 0; i < 2000; ++i) {
      const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(dice.bits()));
      const float y = round(f, x);
      ASSERT_TRUE(same(round_stochastic(f, y, dice.bits()), y)) << name(f) << ' ' << y;
    }
  for (const float x : {0.0f, -0.0f, NAN, HUGE_VALF, -HUGE_VALF})
    for (const Format& f : {bf16, fp16, e4m3, Format{4, 3, Overflow::nan, true}})
      EXPECT_TRUE(same(round_stochastic(f, x, dice.bits()), round(f, x))) << name(f) << ' ' << x;
}

/// Distance of the mean of many roundings of x from x, in standard errors.
template <class T>
double bias(const Format& f, T x, Dice& dice) {
  const Neighbours<T> n = neighbours(f, x);
  const double gap = static_cast<double>(n.further) - static_cast<double>(n.nearer);
  const double chance = (static_cast<double>(x) - static_cast<double>(n.nearer)) / gap;
  constexpr int count = 20000;
  int further = 0;
  for (int i = 0; i < count; ++i) further += round_stochastic(f, x, dice.bits()) == n.further;
  return (further - chance * count) / std::sqrt(chance * (1 - chance) * count + 1e-3);
}

TEST(RoundStochastic, IsUnbiased) {
  Dice dice(13);
  double sum_of_squares = 0;
  int count = 0;
  for (const Format& f : {bf16, fp16, tf32, e4m3, e5m2, Format{3, 0}})
    for (int i = 0; i < 30; ++i) {
      const double scale = i % 3 == 0 ? smallest_subnormal(f) : 1;  // a third of them below the subnormals
      const double z = i % 2 == 0 ? bias(f, static_cast<float>(scale * (1 + dice.unit()) * 0.6), dice)
                                  : bias(f, -scale * (1 + dice.unit()) * 0.6, dice);
      EXPECT_LT(std::fabs(z), 5) << name(f);
      sum_of_squares += z * z;
      ++count;
    }
  EXPECT_NEAR(sum_of_squares / count, 1, 0.45);
}

TEST(RoundStochastic, GivesEvenTheSmallestValuesTheirChance) {
  // x is 2^-13 of the spacing: a double with 65 bits below fp16's last
  const double spacing = smallest_subnormal(fp16), x = std::ldexp(spacing, -13);
  Dice dice(14);
  constexpr int count = 1 << 20;
  int up = 0;
  for (int i = 0; i < count; ++i) up += round_stochastic(fp16, x, dice.bits()) != 0;
  EXPECT_NEAR(up, count >> 13, 60);  // 128, standard deviation 11
  EXPECT_EQ(round_stochastic(fp16, x, 0), 0);
  EXPECT_EQ(round_stochastic(fp16, 5e-324, ~std::uint64_t{0} >> 1), 0);
}

TEST(DiceRoll, DependsOnEverythingThatTellsRoundingsApart) {
  std::set<std::uint64_t> rolls;
  int count = 0;
  for (const std::uint64_t seed : {0u, 1u, 2u})
    for (const Step step : {Step::input, Step::S, Step::output})
      for (const int row : {0, 1, 77})
        for (const int i : {-2, 0, 1, 5})
          for (const int k : {-1, 0, 1, 1 << 21}) {
            rolls.insert(random_bits(seed, step, row, i, k));
            ++count;
          }
  EXPECT_EQ(rolls.size(), static_cast<std::size_t>(count));
}

/// A small experiment whose policy rounds stochastically at all steps.
Experiment stochastic_experiment(const char* policy_name) {
  Experiment e = small_experiment(bf16, 120, 20);
  e.problem.mask.kind = Mask::Kind::causal;
  e.a.precision = policy(policy_name).precision;
  for (Rounding& r : e.a.precision.steps) r.stochastic = r.kind != Rounding::Kind::exact;
  return e;
}

TEST(Stochastic, ChangesTheNumbersAndFollowsTheSeed) {
  for (const char* name : {"hw", "eager", "all_tile", "all_direct"}) {
    Experiment e = stochastic_experiment(name);
    e.problem.input = given(*compute(e).inputs);  // the seed now sets only the random bits of roundings
    const Result r = compute(e), again = compute(e, {.threads = 1});
    EXPECT_EQ(r.digests.a, again.digests.a) << name;
    EXPECT_EQ(r.digests.golden, again.digests.golden) << name;
    e.problem.seed += 1;
    EXPECT_NE(compute(e).digests.a, r.digests.a) << name;
    e.a.precision = policy(name).precision;
    EXPECT_NE(compute(e).digests.a, r.digests.a) << name;
  }
}

TEST(Stochastic, BlockQAndThreadsChangeNoBit) {
  for (const auto algorithm :
       {Algorithm::three_pass, Algorithm::two_pass, Algorithm::flash1, Algorithm::flash2, Algorithm::split_kv})
    for (const char* name : {"eager", "all_direct"}) {
      Experiment e = stochastic_experiment(name);
      e.a.algorithm = algorithm;
      e.problem.sink = 0.5;
      const std::uint64_t expected = compute(e, {.threads = 1}).digests.a;
      e.a.block_q = 7;
      EXPECT_EQ(compute(e, {.threads = 3}).digests.a, expected) << name;
    }
}

TEST(Stochastic, OutputsAreUnbiased) {
  Experiment e = small_experiment(bf16, 30, 8);
  e.problem.input = given(*compute(e).inputs);
  e.a.precision = {};
  const Result truth = compute(e);
  e.a.precision[Step::output] = {Rounding::Kind::main, {}, true};
  const int runs = sanitized ? 50 : 400;
  std::vector<double> sum(truth.a.values.size());
  for (e.problem.seed = 1; e.problem.seed <= static_cast<std::uint64_t>(runs); ++e.problem.seed) {
    const Result r = compute(e);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += r.a.values[i];
  }
  double sum_of_squares = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const auto x = static_cast<float>(truth.a.values[i]);
    const Neighbours<float> n = neighbours(bf16, x);
    const double chance = (x - n.nearer) / (n.further - n.nearer), deviation = std::sqrt(chance * (1 - chance) / runs);
    const double z = (sum[i] / runs - x) / (std::fabs(n.further - n.nearer) * std::max(deviation, 1e-3));
    EXPECT_LT(std::fabs(z), 5.5) << i;
    sum_of_squares += z * z;
  }
  EXPECT_NEAR(sum_of_squares / static_cast<double>(sum.size()), 1, 0.4);
}

}  // namespace
}  // namespace attoscope
