/// exp, 2^x, its polynomials, ln and soft-capping against libm in a wider type: every float whose result is a number, and many
/// doubles.
#include "kernels/arithmetic/exponential.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "tests/support/support.h"

namespace attoscope::exponential_test {
namespace {

using namespace testing;  // attoscope::testing

struct Worst {
  double error = 0;
  double x = 0;

  void take(double seen, double at) {
    if (!(seen <= error)) *this = {seen, at};
  }
};
std::ostream& operator<<(std::ostream& out, const Worst& w) {
  return out << w.error << " at " << std::hexfloat << w.x << std::defaultfloat;
}

void expect_within(double ulps, const Worst& worst) {
  EXPECT_LE(worst.error, ulps) << worst;
  std::cout << "worst: " << worst << " ulp\n";
}

/// The worst of worst_of(begin, end) for the parts of [0, count), on all threads.
Worst worst_of_parts(std::uint64_t count, auto worst_of) {
  Worst worst;
  std::mutex mutex;
  in_parallel(count, [&](std::uint64_t begin, std::uint64_t end) {
    const Worst mine = worst_of(begin, end);
    const std::lock_guard lock(mutex);
    worst.take(mine.error, mine.x);
  });
  return worst;
}

/// The worst of error(x) for `count` x = value(i), every `step`-th, on all threads.
Worst worst_of(std::uint64_t count, std::uint64_t step, auto value, auto error) {
  return worst_of_parts(count, [&](std::uint64_t begin, std::uint64_t end) {
    Worst mine;
    for (std::uint64_t i = (begin + step - 1) / step * step; i < end; i += step) {
      const auto x = value(i);
      mine.take(error(x), static_cast<double>(x));
    }
    return mine;
  });
}

float float_of(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
std::uint64_t bits_of_float(float x) { return std::bit_cast<std::uint32_t>(x); }

/// |y - truth| in units of the spacing of `f` at the truth.
template <class Wide>
double ulps_off(const Format& f, Wide y, Wide truth) {
  return static_cast<double>(std::fabs(y - truth) / ulp(f, static_cast<double>(truth)));
}

/// exp in double, with an error of about half a double ulp. For tiny x, as most floats, three terms of the series are closer.
double truth(float x) {
  const double wide = x;
  return std::fabs(x) < 0x1p-18f ? 1 + (wide + wide * wide / 2) : std::exp(wide);
}

constexpr float smallest_argument = -103.9f, largest_argument = 88.72283f;  // beyond: nearest to 0, or infinite

/// The worst of the floats with these bit patterns and this sign bit.
[[gnu::always_inline]] inline Worst worst_among(std::uint64_t begin, std::uint64_t end, std::uint32_t sign) {
  Worst worst;
  for (std::uint64_t u = begin; u < end; u += exhaustive_step) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(u) | sign);
    worst.take(ulps_off(fp32, double{exponential(x)}, truth(x)), x);
  }
  return worst;
}
/// worst_among compiled for every processor, and with the fma instruction: the same bits, but six times as fast.
Worst worst_anywhere(std::uint64_t begin, std::uint64_t end, std::uint32_t sign) { return worst_among(begin, end, sign); }
[[gnu::target("fma")]] Worst worst_with_fma(std::uint64_t begin, std::uint64_t end, std::uint32_t sign) {
  return worst_among(begin, end, sign);
}

/// The worst float of magnitude 0 to `last`.
Worst worst_float(std::uint32_t sign, float last) {
  const auto worst_of = __builtin_cpu_supports("fma") ? worst_with_fma : worst_anywhere;
  return worst_of_parts(bits_of_float(last) + 1,
                        [=](std::uint64_t begin, std::uint64_t end) { return worst_of(begin, end, sign); });
}

TEST(Exponential, EveryFloatInRangeIsWithin1_03Ulp) {
  expect_within(1.03, worst_float(0x80000000, -smallest_argument));
  expect_within(1.03, worst_float(0, largest_argument));
}

TEST(Exponential, DoublesAreWithinOneUlp) {
  const Worst worst = worst_of_parts(8'000'000 / exhaustive_step, [](std::uint64_t begin, std::uint64_t end) {
    Dice dice(begin + 1);
    Worst mine;
    for (std::uint64_t i = begin; i < end; ++i) {
      const double wide = -745 + dice.unit() * (745 + 709.78), near = std::ldexp(2 * dice.unit() - 1, dice.between(-60, 6));
      const double x = i % 2 == 0 ? wide : near;
      mine.take(ulps_off<long double>(fp64, exponential(x), std::exp(static_cast<long double>(x))), x);
    }
    return mine;
  });
  expect_within(1, worst);
}

template <class T>
void expect_ends_of_the_range() {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  EXPECT_EQ(exponential(T{0}), 1);
  EXPECT_EQ(exponential(-T{0}), 1);
  EXPECT_EQ(exponential(-infinity), 0);
  EXPECT_EQ(exponential(infinity), infinity);
  EXPECT_EQ(exponential(std::numeric_limits<T>::lowest()), 0);
  EXPECT_EQ(exponential(std::numeric_limits<T>::max()), infinity);
  EXPECT_EQ(exponential(std::numeric_limits<T>::denorm_min()), 1);
  EXPECT_TRUE(std::isnan(exponential(std::numeric_limits<T>::quiet_NaN())));
}
TEST(Exponential, FloatEndsWhereItMust) { expect_ends_of_the_range<float>(); }
TEST(Exponential, DoubleEndsWhereItMust) { expect_ends_of_the_range<double>(); }

TEST(Exponential, BeyondTheRangeThereIsNothingButZeroAndInfinity) {
  for (float x = smallest_argument; x > -110; x -= 0.01f) ASSERT_LE(exponential(x), 0x1p-149f) << x;
  for (float x = -104; x > -1e4f; x *= 1.01f) ASSERT_EQ(exponential(x), 0) << x;
  for (float x = 88.7229f; x < 1e4f; x *= 1.01f) ASSERT_EQ(exponential(x), HUGE_VALF) << x;
}

/// The worst 2^x for float bit patterns from `first` to `last`, both of one sign.
Worst worst_exp2(float first, float last, std::uint64_t step) {
  const std::uint64_t from = bits_of_float(first);
  return worst_of(
      bits_of_float(last) - from + 1, step, [=](std::uint64_t i) { return float_of(from + i); },
      [](float x) { return ulps_off(fp32, double{exponential2(x)}, std::exp2(double{x})); });
}

TEST(Exponential2, EveryFloatInRangeIsWithin1_03Ulp) {
  constexpr float tiny = 0x1p-27f;  // below it 2^x rounds to 1 and the neighbours of 1
  for (const Worst& worst : {worst_exp2(tiny, 127.99999f, exhaustive_step), worst_exp2(-tiny, -150.0f, exhaustive_step),
                             worst_exp2(0.0f, tiny, 1021), worst_exp2(-0.0f, -tiny, 1021)})
    expect_within(1.03, worst);
}

TEST(Exponential2, DoublesAreWithin1_03Ulp) {
  Dice dice(1);
  Worst worst;
  for (int i = 0; i < 1'000'000; ++i) {
    const double x =
        i % 2 == 0 ? -1074 + dice.unit() * (1074 + 1023.99) : std::ldexp(2 * dice.unit() - 1, dice.between(-60, 6));
    const long double truth = std::exp2(static_cast<long double>(x));
    worst.take(ulps_off<long double>(fp64, exponential2(x), truth), x);
  }
  expect_within(1.03, worst);
}

template <class T>
void expect_ends_of_the_powers() {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  for (int degree = 0; degree <= 5; ++degree) {
    const auto power = [degree](T x) { return degree == 0 ? exponential2(x) : exponential2_polynomial(x, degree); };
    EXPECT_EQ(power(T{0}), 1);
    EXPECT_EQ(power(-T{0}), 1);
    EXPECT_EQ(power(-infinity), 0);
    EXPECT_EQ(power(infinity), infinity);
    EXPECT_EQ(power(std::numeric_limits<T>::lowest()), 0);
    EXPECT_EQ(power(std::numeric_limits<T>::max()), infinity);
    EXPECT_TRUE(std::isnan(power(std::numeric_limits<T>::quiet_NaN())));
    for (int k = std::is_same_v<T, float> ? -149 : -1074; k <= (std::is_same_v<T, float> ? 127 : 1023); ++k)
      ASSERT_EQ(power(static_cast<T>(k)), std::ldexp(T{1}, k)) << "degree " << degree;
  }
}
TEST(Exponential2, WholeNumbersAreExactAndFloatEndsWhereItMust) { expect_ends_of_the_powers<float>(); }
TEST(Exponential2, WholeNumbersAreExactAndDoubleEndsWhereItMust) { expect_ends_of_the_powers<double>(); }

/// Errors that exponential.h promises for degree 1 to 5.
constexpr double promised[] = {3.9e-2, 2.1e-3, 8.8e-5, 2.9e-6, 1.6e-7};

TEST(Exponential2, PolynomialsHaveTheRelativeErrorsThatAreWrittenDown) {
  for (int degree = 1; degree <= 5; ++degree) {
    const double limit = promised[degree - 1];
    const Worst in_double = worst_of(
        2'000'000 / exhaustive_step, 1, [](std::uint64_t i) { return static_cast<double>(i) / (2'000'000 / exhaustive_step); },
        [degree](double x) { return std::fabs(exponential2_polynomial(x, degree) / std::exp2(x) - 1); });
    EXPECT_LE(in_double.error, 1.02 * limit) << "degree " << degree;
    const std::uint64_t from = bits_of_float(0x1p-20f);
    const Worst in_float = worst_of(
        bits_of_float(1.0f) - from, 7 * exhaustive_step, [=](std::uint64_t i) { return float_of(from + i); },
        [degree](float x) { return std::fabs(exponential2_polynomial(x, degree) / std::exp2(double{x}) - 1); });
    EXPECT_LE(in_float.error, 1.03 * limit) << "degree " << degree;
    EXPECT_GE(in_float.error, 0.85 * limit) << "degree " << degree;
    std::cout << "degree " << degree << ": " << in_double << " in double, " << in_float << " in float\n";
  }
}

TEST(Exponential2, PolynomialsTreatEveryOctaveAlike) {
  Dice dice(2);
  for (int degree = 1; degree <= 5; ++degree)
    for (int i = 0; i < 20000; ++i) {
      const auto f = static_cast<float>(std::ldexp(static_cast<double>(dice.between(0, (1 << 16) - 1)), -16));
      const int k = dice.between(-120, 120);
      ASSERT_EQ(exponential2_polynomial(f + static_cast<float>(k), degree), std::ldexp(exponential2_polynomial(f, degree), k));
    }
}

TEST(Logarithm, OfPositiveFloatsIsWithin2Ulps) {
  const auto error = [](float x) { return ulps_off(fp32, double{logarithm(x)}, std::log(double{x})); };
  const auto positive = [](std::uint64_t i) { return float_of(i); };
  const Worst anywhere = worst_of(
      bits_of_float(HUGE_VALF), 37 * exhaustive_step, [&](std::uint64_t i) { return positive(i == 0 ? 1 : i); }, error);
  const std::uint64_t half = bits_of_float(0.5f);
  const Worst near_one = worst_of(
      bits_of_float(2.0f) - half, exhaustive_step, [=](std::uint64_t i) { return float_of(half + i); },
      [&](float x) { return x == 1 ? (logarithm(x) == 0 ? 0.0 : 1e9) : error(x); });
  EXPECT_LE(anywhere.error, 2) << anywhere;
  EXPECT_LE(near_one.error, 2) << near_one;
  std::cout << "worst: " << anywhere << " ulp; from 1/2 to 2: " << near_one << " ulp\n";
}

TEST(Logarithm, OfDoublesIsWithin2Ulps) {
  Dice dice(3);
  Worst worst;
  for (int i = 0; i < 1'000'000; ++i) {
    const double x = i % 2 == 0 ? std::ldexp(1 + dice.unit(), dice.between(-1074, 1023)) : 0.5 + 1.5 * dice.unit();
    const long double truth = std::log(static_cast<long double>(x));
    worst.take(ulps_off<long double>(fp64, logarithm(x), truth), x);
  }
  expect_within(2, worst);
}

template <class T>
void expect_edges_of_logarithm() {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  EXPECT_EQ(logarithm(T{1}), 0);
  EXPECT_EQ(logarithm(T{0}), -infinity);
  EXPECT_EQ(logarithm(-T{0}), -infinity);
  EXPECT_EQ(logarithm(infinity), infinity);
  EXPECT_TRUE(std::isnan(logarithm(T{-1})));
  EXPECT_TRUE(std::isnan(logarithm(-infinity)));
  EXPECT_TRUE(std::isnan(logarithm(std::numeric_limits<T>::quiet_NaN())));
  const T smallest = std::numeric_limits<T>::denorm_min();
  EXPECT_NEAR(logarithm(smallest), std::log(smallest), 1e-4);
}
TEST(Logarithm, OfFloatsHasTheEdgesOfLn) { expect_edges_of_logarithm<float>(); }
TEST(Logarithm, OfDoublesHasTheEdgesOfLn) { expect_edges_of_logarithm<double>(); }

template <class T>
void expect_soft_capping(double epsilon) {
  Dice dice(4);
  for (int i = 0; i < 200'000; ++i) {
    const double cap = dice.any(std::array{1.0, 15.0, 30.0, 50.0});
    const auto x = static_cast<T>(std::ldexp(2 * dice.unit() - 1, dice.between(-10, 12)));
    const auto y = static_cast<double>(soft_capped(x, static_cast<T>(cap)));
    ASSERT_NEAR(y, cap * std::tanh(double{x} / cap), 4 * cap * epsilon) << x << " capped at " << cap;
    ASSERT_EQ(soft_capped(-x, static_cast<T>(cap)), static_cast<T>(-y));
    ASSERT_LE(std::fabs(y), cap);
  }
  constexpr T infinity = std::numeric_limits<T>::infinity();
  EXPECT_EQ(soft_capped(infinity, T{30}), 30);
  EXPECT_EQ(soft_capped(-infinity, T{30}), -30);
  EXPECT_EQ(soft_capped(T{0}, T{30}), 0);
  EXPECT_TRUE(std::isnan(soft_capped(std::numeric_limits<T>::quiet_NaN(), T{30})));
}
TEST(SoftCapping, InFloatIsTanhOfTheCapsSize) { expect_soft_capping<float>(0x1p-23); }
TEST(SoftCapping, InDoubleIsTanhOfTheCapsSize) { expect_soft_capping<double>(0x1p-52); }

}  // namespace
}  // namespace attoscope::exponential_test
