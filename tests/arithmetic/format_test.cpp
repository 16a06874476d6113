/// `round` against independent definitions: tables of all numbers of a format, hardware casts, scaling in long double.
#include "kernels/arithmetic/format.h"

#include <cpuid.h>
#include <gtest/gtest.h>
#include <immintrin.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "tests/reference/plain.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// All numbers >= 0 of a format by the definition of its codes, and the next number beyond the largest with unbounded exponent.
std::vector<double> numbers_and_one_beyond(const Format& f) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1, mantissas = 1 << f.mantissa_bits;
  const int reserved = f.top_code_nan ? 1 : mantissas;
  const int codes = (1 << f.exponent_bits) * mantissas - reserved;
  std::vector<double> numbers;
  for (int code = 0; code <= codes; ++code) {
    const int exponent = code / mantissas, mantissa = code % mantissas;
    numbers.push_back(exponent == 0 ? std::ldexp(mantissa, 1 - bias - f.mantissa_bits)
                                    : std::ldexp(mantissas + mantissa, exponent - bias - f.mantissa_bits));
  }
  return numbers;
}

constexpr std::uint64_t infinite = 0x7f800000;

/// Bit pattern of the first float that rounds to the number after `code`; a float in the middle rounds to the even code.
std::uint64_t first_of_next(const std::vector<double>& numbers, std::size_t code) {
  const double middle = (numbers[code] + numbers[code + 1]) / 2;  // a float: it has one bit more than the format
  return std::bit_cast<std::uint32_t>(static_cast<float>(middle)) + std::uint64_t{code % 2 == 0};
}

/// Number of floats with bit patterns in [begin, end), and their negatives, that `round` does not take to +-expected.
template <Format f>
[[gnu::always_inline]] inline std::uint64_t wrong_among(float expected, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t wrong = 0;
#pragma omp simd reduction(+ : wrong)
  for (std::uint64_t u = begin; u < end; u += exhaustive_step) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(u));
    wrong += !same(round(f, x), expected) + !same(round(f, -x), -expected);
  }
  return wrong;
}
/// wrong_among compiled for every processor, and for 16 floats at a time: the same bits, but four times as fast.
template <Format f>
std::uint64_t wrong_anywhere(float expected, std::uint64_t begin, std::uint64_t end) {
  return wrong_among<f>(expected, begin, end);
}
template <Format f>
[[gnu::target("avx512f,avx512cd")]] std::uint64_t wrong_with_avx512(float expected, std::uint64_t begin, std::uint64_t end) {
  return wrong_among<f>(expected, begin, end);
}

/// Number of wrong roundings of all floats but NaN, found by walking through the table of f's numbers.
template <Format f>
std::uint64_t wrong_floats() {
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd");
  const auto wrong_of = has_avx512 ? wrong_with_avx512<f> : wrong_anywhere<f>;
  const float overflow = f.overflow == Overflow::saturate ? static_cast<float>(largest(f)) : HUGE_VALF;
  const std::vector<double> numbers = numbers_and_one_beyond(f);
  const std::size_t codes = numbers.size() - 1;
  std::atomic<std::uint64_t> wrong = 0;
  in_parallel(infinite + 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::size_t code = 0; code <= codes; ++code) {
      const std::uint64_t first = code == 0 ? 0 : first_of_next(numbers, code - 1);
      const std::uint64_t next = code == codes ? infinite + 1 : first_of_next(numbers, code);
      const float expected = code == codes ? overflow : static_cast<float>(numbers[code]);
      wrong += wrong_of(expected, std::max(first, begin), std::min(next, end));
    }
  });
  return wrong;
}

template <Format f>
std::uint64_t lost_nans() {
  std::uint64_t lost = 0;
  for (std::uint64_t u = infinite + 1; u < 0x80000000; u += exhaustive_step) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(u));
    lost += !std::isnan(round(f, x)) + !std::isnan(round(f, -x));
  }
  return lost;
}

template <Format f>
void expect_nearest_numbers_of_the_table() {
  EXPECT_EQ(wrong_floats<f>(), 0u);
  EXPECT_EQ(lost_nans<f>(), 0u);
}
TEST(Exhaustive, EveryFloatRoundsToTheNearestBf16) { expect_nearest_numbers_of_the_table<bf16>(); }
TEST(Exhaustive, EveryFloatRoundsToTheNearestFp16) { expect_nearest_numbers_of_the_table<fp16>(); }
TEST(Exhaustive, EveryFloatRoundsToTheNearestTf32) { expect_nearest_numbers_of_the_table<tf32>(); }
TEST(Exhaustive, EveryFloatRoundsToTheNearestE4m3) { expect_nearest_numbers_of_the_table<e4m3>(); }
TEST(Exhaustive, EveryFloatRoundsToTheNearestE5m2) { expect_nearest_numbers_of_the_table<e5m2>(); }

/// 16 floats, and an instruction's results for them.
struct Instructed {
  static constexpr std::uint64_t count = 16;
  alignas(64) float x[count], y[count];

  /// The floats whose bit patterns begin with `first`.
  [[gnu::always_inline]] void take(std::uint64_t first) {
#pragma omp simd
    for (std::uint64_t i = 0; i < count; ++i)
      x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(first + i * exhaustive_step));
  }
  /// Number of these floats that `round` rounds otherwise; skips bit patterns from `end` on, and subnormals if `normal`.
  template <Format f>
  [[gnu::always_inline]] std::uint64_t wrong(std::uint64_t first, std::uint64_t end, bool normal) const {
    std::uint64_t wrong = 0;
#pragma omp simd reduction(+ : wrong)
    for (std::uint64_t i = 0; i < count; ++i)
      wrong += first + i * exhaustive_step < end && (!normal || std::isnormal(x[i])) && !same(round(f, x[i]), y[i]);
    return wrong;
  }
};

[[gnu::target("avx2,f16c")]] std::uint64_t wrong_against_f16c(std::uint64_t begin, std::uint64_t end) {
  std::uint64_t wrong = 0;
  Instructed all;
  for (std::uint64_t u = begin; u < end; u += all.count * exhaustive_step) {
    all.take(u);
    for (std::uint64_t i = 0; i < all.count; i += 8)
      _mm256_store_ps(all.y + i, _mm256_cvtph_ps(_mm256_cvtps_ph(_mm256_load_ps(all.x + i), _MM_FROUND_TO_NEAREST_INT)));
    wrong += all.wrong<fp16>(u, end, false);
  }
  return wrong;
}

/// True if the processor reports f16c and AVX2; some compilers' __builtin_cpu_supports do not know f16c.
bool has_f16c() {
  if (!__builtin_cpu_supports("avx2")) return false;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

TEST(Round, EveryFloatBecomesTheFp16ThatTheProcessorMakesOfIt) {
  if (!has_f16c()) GTEST_SKIP() << "this processor has no F16C or no AVX2";
  std::atomic<std::uint64_t> wrong = 0;
  in_parallel(std::uint64_t{1} << 32, [&](std::uint64_t begin, std::uint64_t end) { wrong += wrong_against_f16c(begin, end); });
  EXPECT_EQ(wrong, 0u);
}

[[gnu::target("avx512bf16,avx512vl,avx512cd")]] std::uint64_t wrong_against_avx512(std::uint64_t begin, std::uint64_t end) {
  std::uint64_t wrong = 0;
  Instructed all;
  for (std::uint64_t u = begin; u < end; u += all.count * exhaustive_step) {
    all.take(u);
    const auto halves = std::bit_cast<std::array<std::uint16_t, all.count>>(_mm512_cvtneps_pbh(_mm512_load_ps(all.x)));
    for (std::uint64_t i = 0; i < all.count; ++i) all.y[i] = std::bit_cast<float>(static_cast<std::uint32_t>(halves[i]) << 16);
    wrong += all.wrong<bf16>(u, end, true);  // the instruction treats subnormals as 0
  }
  return wrong;
}

TEST(Round, EveryNormalFloatBecomesTheBf16ThatTheProcessorMakesOfIt) {
  if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512vl"))
    GTEST_SKIP() << "this processor has no AVX512-BF16";
  std::atomic<std::uint64_t> wrong = 0;
  in_parallel(std::uint64_t{1} << 32,
              [&](std::uint64_t begin, std::uint64_t end) { wrong += wrong_against_avx512(begin, end); });
  EXPECT_EQ(wrong, 0u);
}

template <class T>
void expect_plain_rounding() {
  Dice dice(1);
  std::uint64_t wrong = 0;
  for_each_format([&](const Format& f) {
    if (f.mantissa_bits > Layout<T>::mantissa_bits) return;  // T cannot be its working type
    for (const T x : hard_values<T>(f, dice))
      for (const T signed_x : {x, -x})
        if (!same(round(f, signed_x), plain::nearest(f, signed_x)) && wrong++ < 5)
          ADD_FAILURE() << name(f) << " takes " << std::hexfloat << signed_x << " to " << round(f, signed_x) << ", expected "
                        << plain::nearest(f, signed_x);
  });
  EXPECT_EQ(wrong, 0u);
}

TEST(Round, EveryFormatRoundsHardFloatsAsPlainScalingDoes) { expect_plain_rounding<float>(); }
TEST(Round, EveryFormatRoundsHardDoublesAsPlainScalingDoes) { expect_plain_rounding<double>(); }

TEST(Round, IsIdempotentAndMonotonic) {
  Dice dice(2);
  for (int i = 0; i < 200'000; ++i) {
    const Format f = random_format(dice);
    const double x = dice.normal() * std::ldexp(1, dice.between(-20, 20)), y = dice.normal();
    ASSERT_TRUE(same(round(f, round(f, x)), round(f, x))) << name(f) << ' ' << x;
    if (f.overflow != Overflow::nan) {
      ASSERT_LE(round(f, std::min(x, y)), round(f, std::max(x, y))) << name(f) << ' ' << x << ' ' << y;
    }
  }
}

TEST(Round, OverflowGivesWhatTheFormatSays) {
  Format f = fp16;
  EXPECT_EQ(round(f, 65519.99), 65504);
  EXPECT_EQ(round(f, 65520.0), HUGE_VAL);
  EXPECT_EQ(round(f, -65520.0), -HUGE_VAL);
  f.overflow = Overflow::saturate;
  EXPECT_EQ(round(f, -1e9), -65504);
  EXPECT_EQ(round(f, HUGE_VAL), 65504);
  f.overflow = Overflow::nan;
  EXPECT_TRUE(std::isnan(round(f, 65520.0)));
  EXPECT_TRUE(std::isnan(round(f, HUGE_VAL)));
}

TEST(Round, OcpE4m3EndsAt448AndTiesBelow480GoBack) {
  EXPECT_EQ(largest(e4m3), 448);
  EXPECT_EQ(round(e4m3, 464.0f), 448);
  EXPECT_EQ(round({4, 3, Overflow::infinity, true}, 464.0f), 448);
  EXPECT_EQ(round({4, 3, Overflow::infinity, true}, std::nextafter(464.0f, 500.0f)), HUGE_VALF);
  EXPECT_EQ(round({4, 3, Overflow::infinity, false}, 247.0f), 240);
  EXPECT_EQ(round({4, 3, Overflow::infinity, false}, 248.0f), HUGE_VALF);
}

TEST(Format, LimitsAreThoseOfTheStandards) {
  EXPECT_EQ(largest(fp64), std::numeric_limits<double>::max());
  EXPECT_EQ(largest(fp32), std::numeric_limits<float>::max());
  EXPECT_EQ(largest(bf16), 0x1.fep127);
  EXPECT_EQ(largest(fp16), 65504);
  EXPECT_EQ(largest(e5m2), 57344);
  EXPECT_EQ(smallest_normal(fp16), 0x1p-14);
  EXPECT_EQ(smallest_subnormal(fp16), 0x1p-24);
  EXPECT_EQ(smallest_subnormal(e4m3), 0x1p-9);
  EXPECT_EQ(smallest_subnormal(fp32), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(smallest_subnormal(fp64), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(epsilon(bf16), 0x1p-7);
}

TEST(Format, EveryCodeIsItsNumber) {
  for (const Format& f : {bf16, fp16, tf32, e4m3, e5m2, Format{2, 1}, Format{5, 0}, Format{3, 2, Overflow::nan, true},
                          Format{3, 0, Overflow::nan, true}}) {
    const std::vector<double> numbers = numbers_and_one_beyond(f);
    const std::size_t sign = std::size_t{1} << (f.exponent_bits + f.mantissa_bits), finite = numbers.size() - 1;
    for (std::size_t code = 0; code < sign; ++code) {
      const double nan = std::nan(""), top = f.top_code_nan || code > finite ? nan : HUGE_VAL;
      const double expected = code < finite ? numbers[code] : top, x = number_of(f, code), negative = number_of(f, sign | code);
      ASSERT_TRUE(same(x, expected) && same(negative, -expected)) << name(f) << ' ' << code << ": " << x;
      ASSERT_TRUE(!std::signbit(x) && std::signbit(negative)) << name(f) << ' ' << code << ": " << x;
    }
  }
  Dice dice(3);
  for (const double x : hard_values<double>(fp64, dice)) ASSERT_TRUE(same(number_of(fp64, bit_as<std::uint64_t>(x)), x)) << x;
}

TEST(Format, UlpIsTheDistanceToTheNextNumberOutwards) {
  for (const Format& f : {bf16, fp16, e5m2, Format{3, 4}}) {
    const std::vector<double> numbers = numbers_and_one_beyond(f);
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
      ASSERT_EQ(ulp(f, numbers[i]), numbers[i + 1] - numbers[i]) << name(f) << ' ' << numbers[i];
      ASSERT_EQ(ulp(f, -(numbers[i] + numbers[i + 1]) / 2), numbers[i + 1] - numbers[i]) << name(f) << ' ' << numbers[i];
    }
  }
}

TEST(Format, NameAndParseAreInverse) {
  for_each_format([](const Format& f) {
    if (!(f.top_code_nan && f.overflow == Overflow::infinity)) {
      ASSERT_EQ(parse_format(name(f)), f) << name(f);
    }
  });
  EXPECT_EQ(name(e4m3), "e4m3");
  EXPECT_EQ(name(bf16), "bf16");
  EXPECT_EQ(name(Format{5, 7}), "e5m7");
  EXPECT_EQ(parse_format("e8m7"), bf16);
  EXPECT_EQ(parse_format("e4m3"), e4m3);
}

TEST(Format, UnknownNamesAreRefusedByName) {
  for (const std::string bad : {"", "fp17", "e1m3", "e12m3", "e4m53", "e4", "e4m", "m3", "e4m3/", "e4m3/never", "e-4m3",
                                "e4m3 ", "e99999999999m3", "BF 16", "e4m3/fn/infinity"}) {
    try {
      ADD_FAILURE() << "'" << bad << "' was read as " << name(parse_format(bad));
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("'" + bad + "'"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace attoscope
