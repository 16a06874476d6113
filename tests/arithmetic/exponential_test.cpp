/// `exponential` against libm's exp in a wider type: every float whose result is a number, and many doubles.
#include "kernels/arithmetic/exponential.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "tests/support/support.h"

namespace attoscope {
namespace {

using testing::Dice;
using testing::exhaustive_step;

struct Worst {
  double ulps = 0;
  double x = 0;

  void take(double error, double at) {
    if (!(error <= ulps)) *this = {error, at};
  }
};

/// |y - truth| in units of the spacing of `f` at the truth.
template <class Wide>
double ulps_off(const Format& f, Wide y, Wide truth) {
  return static_cast<double>(std::fabs(y - truth) / ulp(f, static_cast<double>(truth)));
}

/// exp in double, about half an ulp of double off. Most floats are so small that three terms of the series are closer.
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
/// The same code compiled for every processor, and with the fma instruction: the same bits, but six times as fast.
Worst worst_anywhere(std::uint64_t begin, std::uint64_t end, std::uint32_t sign) { return worst_among(begin, end, sign); }
[[gnu::target("fma")]] Worst worst_with_fma(std::uint64_t begin, std::uint64_t end, std::uint32_t sign) {
  return worst_among(begin, end, sign);
}

/// The worst float of magnitude 0 to `last`.
Worst worst_float(std::uint32_t sign, float last) {
  const auto worst_of = __builtin_cpu_supports("fma") ? worst_with_fma : worst_anywhere;
  Worst worst;
  std::mutex mutex;
  testing::in_parallel(std::bit_cast<std::uint32_t>(last) + 1u, [&](std::uint64_t begin, std::uint64_t end) {
    const Worst mine = worst_of(begin, end, sign);
    const std::lock_guard lock(mutex);
    worst.take(mine.ulps, mine.x);
  });
  return worst;
}

TEST(Exponential, EveryFloatInRangeIsWithin1_03Ulp) {
  for (const Worst& worst : {worst_float(0x80000000, -smallest_argument), worst_float(0, largest_argument)}) {
    EXPECT_LE(worst.ulps, 1.03) << "at " << std::hexfloat << worst.x;
    RecordProperty("worst_ulps", std::to_string(worst.ulps));
    std::cout << "worst: " << worst.ulps << " ulp at " << worst.x << '\n';
  }
}

TEST(Exponential, DoublesAreWithinOneUlp) {
  Worst worst;
  std::mutex mutex;
  testing::in_parallel(8'000'000 / exhaustive_step, [&](std::uint64_t begin, std::uint64_t end) {
    Dice dice(begin + 1);
    Worst mine;
    for (std::uint64_t i = begin; i < end; ++i) {
      const double wide = -745 + dice.unit() * (745 + 709.78), near = std::ldexp(2 * dice.unit() - 1, dice.between(-60, 6));
      const double x = i % 2 == 0 ? wide : near;
      mine.take(ulps_off<long double>(fp64, exponential(x), std::exp(static_cast<long double>(x))), x);
    }
    const std::lock_guard lock(mutex);
    worst.take(mine.ulps, mine.x);
  });
  EXPECT_LE(worst.ulps, 1.0) << "at " << std::hexfloat << worst.x;
  std::cout << "worst: " << worst.ulps << " ulp at " << worst.x << '\n';
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

}  // namespace
}  // namespace attoscope
