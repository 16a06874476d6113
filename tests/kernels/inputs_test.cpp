/// Drawn inputs: the generator's published answers, the distributions, and the same bits for a seed everywhere.
#include "kernels/cpu/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/arithmetic/random.h"
#include "kernels/experiment/presets.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

std::array<std::uint64_t, 4> philox_words(std::uint64_t low, std::uint64_t high, std::uint64_t stream, std::uint64_t seed) {
  const auto p = philox<std::uint64_t>(low, high, stream, seed);
  return {p.x[0], p.x[1], p.x[2], p.x[3]};
}

/// Random123's kat_vectors, philox4x32 with 10 rounds.
TEST(Philox, GivesThePublishedAnswers) {
  using Words = std::array<std::uint64_t, 4>;
  EXPECT_EQ(philox_words(0, 0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint64_t ones = ~std::uint64_t{0};
  EXPECT_EQ(philox_words(0xffffffff, 0xffffffff, ones, ones), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox_words(0x243f6a88, 0x85a308d3, 0x0370734413198a2e, 0x299f31d0a4093822),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

Problem problem(InputKind kind, int n = 512, int d = 64, std::uint64_t seed = 1) {
  Problem p = default_experiment().problem;
  p.input.kind = kind;
  p.n = n;
  p.d = d;
  p.seed = seed;
  return p;
}

std::shared_ptr<const Tensors> drawn(InputKind kind, int n = 512, int d = 64, std::uint64_t seed = 1) {
  return raw_inputs(problem(kind, n, d, seed));
}

double mean(const std::vector<double>& x) { return std::reduce(x.begin(), x.end()) / static_cast<double>(x.size()); }
double moment(const std::vector<double>& x, int power) {
  return std::transform_reduce(x.begin(), x.end(), 0.0, std::plus{}, [power](double v) { return std::pow(v, power); }) /
         static_cast<double>(x.size());
}

TEST(Inputs, NormalNumbersHaveTheMomentsOfTheNormalDistribution) {
  const auto t = drawn(InputKind::normal);
  for (const auto* x : {&t->q, &t->k, &t->v}) {
    ASSERT_EQ(x->size(), 512u * 64u);
    EXPECT_NEAR(mean(*x), 0, 0.02);
    EXPECT_NEAR(moment(*x, 2), 1, 0.03);
    EXPECT_NEAR(moment(*x, 3), 0, 0.06);
    EXPECT_NEAR(moment(*x, 4), 3, 0.15);
  }
}

/// Box and Muller (1958) from Philox's words, in long double.
long double normal_by_libm(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const auto w = philox_words(index / 2, 0, stream, seed);
  const auto unit = [](std::uint64_t high, std::uint64_t low) {
    return std::ldexp(static_cast<long double>((high << 20) | (low >> 12)), -52);
  };
  const long double radius = std::sqrt(-2 * std::log(1 - unit(w[0], w[1]))),
                    angle = 2 * 3.14159265358979323846264338327950288L * unit(w[2], w[3]);
  return radius * (index % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

TEST(Inputs, NormalNumbersAreBoxAndMullersToAFewUlps) {
  const auto t = drawn(InputKind::normal, 100, 37, 42);
  for (std::size_t i = 0; i < t->q.size(); ++i) {
    ASSERT_NEAR(t->q[i], static_cast<double>(normal_by_libm(42, 0, i)), 4e-15) << i;
    ASSERT_NEAR(t->k[i], static_cast<double>(normal_by_libm(42, 1, i)), 4e-15) << i;
    ASSERT_NEAR(t->v[i], static_cast<double>(normal_by_libm(42, 2, i)), 4e-15) << i;
  }
}

std::uint64_t hash(const Tensors& t) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (const auto* tensor : {&t.q, &t.k, &t.v})
    for (const double x : *tensor) h = (h ^ std::bit_cast<std::uint64_t>(x)) * 0x100000001b3;
  return h;
}

/// Compares with fixed hashes, which hold for every instruction set.
TEST(Inputs, ASeedIsTheSameBitsOnEveryMachine) {
  EXPECT_EQ(hash(*drawn(InputKind::normal, 101, 33, 7)), 0x3b20c3fb5f4f0bb4u);
  EXPECT_EQ(hash(*drawn(InputKind::outliers, 101, 33, 7)), 0x50cc64949b44a2b1u);
  EXPECT_EQ(hash(*drawn(InputKind::ascending, 101, 33, 7)), 0x4e30a656fa0c0421u);
}

TEST(Inputs, AnElementDependsOnItsIndexAndTheSeedAlone) {
  for (const auto kind : {InputKind::normal, InputKind::uniform, InputKind::outliers}) {
    const auto small = drawn(kind, 11, 7, 3), large = drawn(kind, 900, 77, 3);
    EXPECT_TRUE(std::ranges::equal(small->q, std::span(large->q).first(77)));
    EXPECT_TRUE(std::ranges::equal(small->v, std::span(large->v).first(77)));
  }
}

TEST(Inputs, SeedsAndTensorsDiffer) {
  const auto one = drawn(InputKind::normal, 20, 8, 1), two = drawn(InputKind::normal, 20, 8, 2);
  EXPECT_NE(one->q, two->q);
  EXPECT_NE(one->q, one->k);
  EXPECT_NE(one->k, one->v);
  EXPECT_NE(hash(*drawn(InputKind::normal, 20, 8, 1)), hash(*drawn(InputKind::normal, 20, 8, 1ull << 32 | 1)));
}

TEST(Inputs, UniformNumbersFillTheUnitInterval) {
  const auto t = drawn(InputKind::uniform);
  const auto [low, high] = std::ranges::minmax(t->q);
  EXPECT_GE(low, 0);
  EXPECT_LT(low, 1e-3);
  EXPECT_LT(high, 1);
  EXPECT_GT(high, 0.999);
  EXPECT_NEAR(mean(t->q), 0.5, 0.01);
  EXPECT_NEAR(moment(t->q, 2), 1.0 / 3, 0.01);
}

TEST(Inputs, OneInAThousandIsAnOutlierOfVariance100) {
  const auto normal = drawn(InputKind::normal, 4096), mixed = drawn(InputKind::outliers, 4096);
  std::vector<double> added;
  for (std::size_t i = 0; i < normal->q.size(); ++i)
    if (mixed->q[i] != normal->q[i]) added.push_back(mixed->q[i] - normal->q[i]);
  EXPECT_NEAR(static_cast<double>(added.size()), 262.144, 65);  // four standard deviations
  EXPECT_NEAR(moment(added, 2), 100, 35);
}

TEST(Inputs, OnesAndConstantsAreWhatTheySay) {
  const auto ones = drawn(InputKind::ones, 30, 5);
  EXPECT_EQ(ones->v, std::vector<double>(150, 1.0));
  EXPECT_EQ(ones->q, drawn(InputKind::normal, 30, 5)->q);
  Problem p = problem(InputKind::constant, 30, 5);
  p.input.value = -2.5;
  const auto constant = raw_inputs(p);
  for (const auto* x : {&constant->q, &constant->k, &constant->v}) EXPECT_EQ(*x, std::vector<double>(150, -2.5));
}

/// Scores of query `row`, in double.
std::vector<double> scores(const Tensors& t, int row) {
  std::vector<double> s;
  const auto d = static_cast<std::ptrdiff_t>(t.d);
  for (int key = 0; key < t.n; ++key)
    s.push_back(std::inner_product(t.q.begin() + row * d, t.q.begin() + (row + 1) * d, t.k.begin() + key * d, 0.0));
  return s;
}

TEST(Inputs, TiesRepeatEveryKeyFourTimes) {
  const auto t = drawn(InputKind::ties, 40, 6);
  for (const int row : {0, 17, 39}) {
    const std::vector<double> s = scores(*t, row);
    for (std::size_t i = 0; i < s.size(); ++i) EXPECT_EQ(s[i], s[i / 4 * 4]);
    EXPECT_EQ(std::ranges::count(s, std::ranges::max(s)), 4);
  }
}

TEST(Inputs, SortedKeysSortTheScoresOfEveryQuery) {
  const auto up = drawn(InputKind::ascending, 100, 16), down = drawn(InputKind::descending, 100, 16),
             mixed = drawn(InputKind::shuffled, 100, 16);
  for (int row = 0; row < 100; ++row) {
    EXPECT_TRUE(std::ranges::is_sorted(scores(*up, row)));
    EXPECT_TRUE(std::ranges::is_sorted(scores(*down, row), std::greater{}));
    EXPECT_FALSE(std::ranges::is_sorted(scores(*mixed, row)));
  }
}

TEST(Inputs, OfAFileAreItsFirstTokens) {
  Problem p = problem(InputKind::tensors, 2, 2);
  p.input = testing::given({3, 3, 2, 2, {1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}, {13, 14, 15, 16, 17, 18}});
  const auto t = raw_inputs(p);
  EXPECT_EQ(t->n, 2);
  EXPECT_EQ(t->q, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(t->v, (std::vector<double>{13, 14, 15, 16}));
}

TEST(SameInputs, LookAtWhatMatters) {
  const Problem p = problem(InputKind::normal);
  Problem q = p;
  q.mask.kind = Mask::Kind::causal;
  q.rows = 5;
  EXPECT_TRUE(same_inputs(p, q));
  q.seed += 1;
  EXPECT_FALSE(same_inputs(p, q));
  q = p;
  q.n = 100;
  EXPECT_FALSE(same_inputs(p, q));
  q = p;
  q.input.kind = InputKind::uniform;
  EXPECT_FALSE(same_inputs(p, q));
}

}  // namespace
}  // namespace attoscope
