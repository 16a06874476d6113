/// Statistics of errors planted by hand, then every statistic against a plain loop in long double.
#include "kernels/deviation/deviation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>

#include "kernels/cpu/simulate.h"
#include "kernels/deviation/meter.h"
#include "kernels/deviation/sorting.h"
#include "kernels/experiment/result.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

using testing::Dice;

constexpr double infinity = std::numeric_limits<double>::infinity();

Matrix matrix(int rows, int cols, std::vector<double> values) { return {rows, cols, std::move(values)}; }
Matrix row(std::vector<double> values) {
  const int count = static_cast<int>(values.size());
  return matrix(1, count, std::move(values));
}

/// Deviation of x from y.
Deviation between(const Matrix& x, const Matrix& y, const Format& format = bf16) {
  return deviation(measured(x), measured(y), format);
}

Matrix drawn(int rows, int cols, std::uint64_t seed) {
  Dice dice(seed);
  Matrix m = matrix(rows, cols, std::vector<double>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols)));
  std::ranges::generate(m.values, [&] { return static_cast<float>(dice.normal()); });
  return m;
}

TEST(Deviation, OfEqualMatricesIsNothing) {
  const Matrix m = drawn(7, 9, 1);
  const Deviation d = between(m, m);
  for (const double x : {d.max_abs, d.mean_abs, d.rms, d.std, d.bias, d.rel_rms, d.wasserstein, d.max_ulp}) EXPECT_EQ(x, 0);
  EXPECT_NEAR(d.cosine, 1, 1e-15);
  EXPECT_LE(d.cosine, 1);
  EXPECT_EQ(d.nonfinite, 0);
  EXPECT_EQ(d.ulps.counts[1 + UlpHistogram::inner / 2], 63);
}

TEST(Deviation, OfOnePlantedErrorIsThatErrorAndItsPlace) {
  const Matrix y = drawn(10, 10, 2);
  Matrix x = y;
  x.values[37] -= 0.5;
  const Deviation d = between(x, y);
  EXPECT_EQ(d.max_abs, 0.5);
  EXPECT_EQ(d.worst_row, 3);
  EXPECT_EQ(d.worst_col, 7);
  EXPECT_DOUBLE_EQ(d.mean_abs, 0.005);
  EXPECT_DOUBLE_EQ(d.bias, -0.005);
  EXPECT_DOUBLE_EQ(d.rms, 0.05);
  EXPECT_NEAR(d.std, std::sqrt(0.0025 - 0.000025), 1e-15);
}

TEST(Deviation, OfAConstantOffsetIsAllBiasAndNoSpread) {
  const Matrix y = drawn(8, 8, 3);
  Matrix x = y;
  for (double& v : x.values) v += 0.25;  // exact
  const Deviation d = between(x, y);
  EXPECT_DOUBLE_EQ(d.bias, 0.25);
  EXPECT_DOUBLE_EQ(d.mean_abs, 0.25);
  EXPECT_NEAR(d.std, 0, 1e-12);
  EXPECT_DOUBLE_EQ(d.wasserstein, 0.25);
}

TEST(Deviation, OfErrorsThatCancelHasNoBias) {
  const Deviation d = between(row({1.5, 0.5, 1.5, 0.5}), row({1, 1, 1, 1}));
  EXPECT_EQ(d.bias, 0);
  EXPECT_EQ(d.mean_abs, 0.5);
  EXPECT_EQ(d.std, 0.5);
  EXPECT_EQ(d.rel_rms, 0.5);
}

TEST(Deviation, ManySmallErrorsDiluteTheMeanButNotTheMaximum) {
  Matrix y = matrix(1000, 100, std::vector<double>(100'000, 1.0)), x = y;
  for (double& v : x.values) v += 0x1p-20;
  x.values[5] += 1;
  const Deviation d = between(x, y);
  EXPECT_DOUBLE_EQ(d.max_abs, 1 + 0x1p-20);
  EXPECT_DOUBLE_EQ(d.mean_abs, 0x1p-20 + 1e-5);
}

TEST(Deviation, WassersteinHidesAPermutationAndNothingElseDoes) {
  const Matrix y = drawn(16, 4, 4);
  Matrix x = y;
  std::ranges::reverse(x.values);
  const Deviation d = between(x, y);
  EXPECT_EQ(d.wasserstein, 0);
  EXPECT_GT(d.max_abs, 1);
  EXPECT_GT(d.rms, 0.5);
  EXPECT_LT(d.cosine, 0.5);
}

TEST(Deviation, CosineSeesTheDirectionOnly) {
  const Matrix y = row({1, 2, -3, 4});
  EXPECT_NEAR(between(row({2, 4, -6, 8}), y).cosine, 1, 1e-15);
  EXPECT_NEAR(between(row({-1, -2, 3, -4}), y).cosine, -1, 1e-15);
  EXPECT_NEAR(between(row({2, -1, 4, 3}), y).cosine, 0, 1e-15);
}

TEST(Deviation, UlpsAreThoseOfTheFormatAtTheReference) {
  const Matrix y = row({1, 1, 2, -1.5});
  EXPECT_DOUBLE_EQ(between(row({1 + 0x1p-7, 1, 2, -1.5}), y).max_ulp, 1);
  EXPECT_DOUBLE_EQ(between(row({1, 1, 2 + 0x1p-7, -1.5}), y).max_ulp, 0.5);
  EXPECT_DOUBLE_EQ(between(row({1, 1, 2, -1.5 - 0x3p-7}), y).max_ulp, 3);
  EXPECT_DOUBLE_EQ(between(row({1 + 0x1p-10, 1, 2, -1.5}), y, fp16).max_ulp, 1);
}

TEST(Deviation, NoUlpIsFinerThanAtOnePercentOfTheRms) {
  std::vector<double> values(10'000, 1.0);
  values[0] = 1e-6;
  const Matrix y = row(values);
  values[0] += 0x1p-14;  // at 0.01 bf16's spacing is 2^-7 / 2^7
  EXPECT_DOUBLE_EQ(between(row(values), y).max_ulp, 1);
}

std::int64_t count_at(const Deviation& d, double ulps) {
  const double bin = std::floor((ulps + UlpHistogram::reach) * UlpHistogram::per_ulp);
  return d.ulps.counts[static_cast<std::size_t>(std::clamp(bin + 1, 0.0, UlpHistogram::inner + 1.0))];
}

TEST(Deviation, TheHistogramBinsSignedUlps) {
  const std::vector<double> planted = {0, 0.3, -0.3, 7.9, 8, 100, -8, -8.1, -100};
  std::vector<double> x;
  for (const double ulps : planted) x.push_back(1 + ulps * 0x1p-7);
  const Deviation d = between(row(x), row(std::vector<double>(planted.size(), 1.0)));
  EXPECT_EQ(count_at(d, 0), 1);
  EXPECT_EQ(count_at(d, 0.3), 1);
  EXPECT_EQ(count_at(d, -0.3), 1);
  EXPECT_EQ(count_at(d, 7.9), 1);
  EXPECT_EQ(count_at(d, -8), 1);
  EXPECT_EQ(d.ulps.counts.front(), 2);
  EXPECT_EQ(d.ulps.counts.back(), 2);
  EXPECT_EQ(std::reduce(d.ulps.counts.begin(), d.ulps.counts.end()), 9);
}

TEST(Deviation, CountsWhatIsNotFiniteAndLeavesItOut) {
  const Deviation d = between(row({1.5, NAN, infinity, -infinity, 2}), row({1, 1, 1, 1, 2}));
  EXPECT_EQ(d.nonfinite, 3);
  EXPECT_EQ(d.max_abs, 0.5);
  EXPECT_EQ(d.mean_abs, 0.25);
  EXPECT_EQ(d.bias, 0.25);
  EXPECT_EQ(std::reduce(d.ulps.counts.begin(), d.ulps.counts.end()), 2);
  EXPECT_TRUE(std::isfinite(d.wasserstein));
  EXPECT_TRUE(std::isfinite(d.cosine));
  EXPECT_TRUE(std::isfinite(d.max_ulp));
}

TEST(Deviation, LeavesOutWhereTheReferenceIsNotFinite) {
  const Deviation d = between(row({1, 1, 3}), row({NAN, infinity, 2}));
  EXPECT_EQ(d.nonfinite, 2);
  EXPECT_EQ(d.max_abs, 1);
  EXPECT_EQ(d.worst_col, 2);
}

TEST(Deviation, OfNothingFiniteIsNotANumber) {
  const Deviation d = between(row({NAN, NAN}), row({1, 2}));
  EXPECT_EQ(d.nonfinite, 2);
  for (const double x : {d.max_abs, d.mean_abs, d.rms, d.std, d.bias, d.rel_rms, d.cosine, d.wasserstein, d.max_ulp})
    EXPECT_TRUE(std::isnan(x)) << x;
}

TEST(LogSumExpError, CountsRowsWithoutAFiniteErrorExceptThoseWithoutKeys) {
  const LseError some = lse_error({1, NAN, infinity, 2, -infinity, -infinity}, {1.5, 1, 1, NAN, -infinity, 3}, false);
  EXPECT_EQ(some.nonfinite, 4);
  EXPECT_EQ(some.max_abs, 0.5);
  EXPECT_EQ(some.bias, 0.5);
  const LseError none = lse_error({NAN, NAN}, {NAN, 0}, false);
  EXPECT_EQ(none.nonfinite, 2);
  for (const double x : {none.max_abs, none.rms, none.bias}) EXPECT_TRUE(std::isnan(x)) << x;
}

/// Deviation by its definitions, in one loop in long double, for finite matrices.
Deviation by_definition(const Matrix& x, const Matrix& y, const Format& format) {
  const auto n = static_cast<long double>(x.values.size());
  long double sum = 0, absolute = 0, square = 0, xx = 0, yy = 0, xy = 0, distance = 0;
  for (const double v : y.values) yy += static_cast<long double>(v) * v;
  const double floor = 0.01 * static_cast<double>(std::sqrt(yy / n));
  Deviation d;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const long double a = x.values[i], b = y.values[i], error = a - b;
    sum += error;
    absolute += std::fabs(error);
    square += error * error;
    xx += a * a;
    xy += a * b;
    d.max_abs = std::max(d.max_abs, std::fabs(static_cast<double>(error)));
    d.max_ulp =
        std::max(d.max_ulp, std::fabs(static_cast<double>(error)) / ulp(format, std::max(std::fabs(y.values[i]), floor)));
  }
  std::vector<double> p = x.values, q = y.values;
  std::ranges::sort(p);
  std::ranges::sort(q);
  for (std::size_t i = 0; i < p.size(); ++i) distance += std::fabs(static_cast<long double>(p[i]) - q[i]);
  d.bias = static_cast<double>(sum / n);
  d.mean_abs = static_cast<double>(absolute / n);
  d.rms = static_cast<double>(std::sqrt(square / n));
  d.std = static_cast<double>(std::sqrt(square / n - (sum / n) * (sum / n)));
  d.rel_rms = static_cast<double>(std::sqrt(square / yy));
  d.cosine = static_cast<double>(xy / std::sqrt(xx * yy));
  d.wasserstein = static_cast<double>(distance / n);
  return d;
}

void expect_same_statistics(const Deviation& d, const Deviation& expected) {
  EXPECT_DOUBLE_EQ(d.max_abs, expected.max_abs);
  EXPECT_DOUBLE_EQ(d.max_ulp, expected.max_ulp);
  EXPECT_NEAR(d.mean_abs, expected.mean_abs, 1e-12 * expected.mean_abs);
  EXPECT_NEAR(d.rms, expected.rms, 1e-12 * expected.rms);
  EXPECT_NEAR(d.std, expected.std, 1e-12 * expected.rms);
  EXPECT_NEAR(d.bias, expected.bias, 1e-12 * expected.mean_abs);
  EXPECT_NEAR(d.rel_rms, expected.rel_rms, 1e-12 * expected.rel_rms);
  EXPECT_NEAR(d.cosine, expected.cosine, 1e-12);
  EXPECT_NEAR(d.wasserstein, expected.wasserstein, 1e-10 * expected.wasserstein + 1e-17);
}

TEST(Deviation, FollowsItsDefinitionsAtEverySize) {
  for (const auto& [rows, cols] : {std::pair{1, 1}, {1, 7}, {31, 3}, {257, 64}, {1024, 64}}) {
    const Matrix y = drawn(rows, cols, static_cast<std::uint64_t>(rows));
    Matrix x = y;
    Dice dice(5);
    for (double& v : x.values) v = round(bf16, static_cast<float>(v * (1 + 0.01 * dice.normal())));
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
    expect_same_statistics(between(x, y), by_definition(x, y, bf16));
  }
}

TEST(Deviation, OfOneUlpOfDoubleIsStillSeen) {
  const Matrix y = row({1, 1, 1, 1});
  EXPECT_EQ(between(row({1, 1 + 0x1p-52, 1, 1}), y, fp64).max_ulp, 1);
  EXPECT_EQ(between(row({1, 1 + 0x1p-52, 1, 1}), y, fp64).mean_abs, 0x1p-54);
}

TEST(Deviation, CountsDifferencesAndFloorsBeyondDouble) {
  const Matrix huge = row({1e308, 1}), opposite = row({-1e308, 1});
  const Deviation d = between(huge, opposite, fp64);  // the difference is infinite, and so is the RMS
  EXPECT_EQ(d.max_ulp, infinity);
  EXPECT_EQ(d.ulps.counts.back(), 1);
  EXPECT_EQ(std::reduce(d.ulps.counts.begin(), d.ulps.counts.end()), 2);
  const Deviation same_size = between(row({1.5e308, 1.5e308}), row({1.5e308, std::nextafter(1.5e308, infinity)}), fp64);
  EXPECT_EQ(same_size.max_ulp, 1);
  EXPECT_EQ(std::reduce(same_size.ulps.counts.begin(), same_size.ulps.counts.end()), 2);
}

// --- parts of a comparison --------------------------------------------------------------------------------------------

/// Numbers of every size and sign, with NaN and infinities if `wild`.
std::vector<double> any_numbers(Dice& dice, std::size_t count, bool wild) {
  std::vector<double> x(count);
  for (double& v : x) {
    v = std::ldexp(dice.normal(), dice.one_in(4) ? dice.between(-1070, 900) : 0);
    if (dice.one_in(9)) v = dice.one_in(2) ? 0.0 : -0.0;
    if (wild && dice.one_in(20)) v = dice.any(std::array{infinity, -infinity, std::numeric_limits<double>::quiet_NaN()});
  }
  return x;
}

TEST(Moments, OfEveryInstructionSetAreThoseOfOneChainAfterTheOther) {
  Dice dice(5);
  for (const char* isa : testing::own_instruction_sets()) {
    for (std::size_t count = 0; count < 70; ++count) {
      const std::vector<double> x = any_numbers(dice, 2 * chunk_size + count, dice.one_in(2));
      const MomentSums found = instruction_set(isa).moments(x.data() + 2 * chunk_size, 2 * chunk_size, static_cast<int>(count));
      std::int64_t nonfinite = 0;
      std::uint64_t terms = 0;
      for (int chain = 0; chain < chains; ++chain) {
        const ChainMoments m = chain_moments(x.data(), x.size(), 2, chain);
        EXPECT_EQ(found.squares[chain], m.squares) << isa << " " << count;
        nonfinite += static_cast<std::int64_t>(m.nonfinite);
        terms += m.digest;
      }
      EXPECT_EQ(found.nonfinite, nonfinite) << isa << " " << count;
      EXPECT_EQ(found.digest, terms) << isa << " " << count;
    }
  }
}

/// Calls f(instruction set, x, y) for finite x and y of many lengths.
void each_pair_of_finite(auto f) {
  Dice dice(8);
  for (const char* isa : testing::own_instruction_sets()) {
    for (std::size_t count = 0; count < 70; ++count) {
      SCOPED_TRACE(std::string(isa) + " " + std::to_string(count));
      f(instruction_set(isa), any_numbers(dice, count, false), any_numbers(dice, count, false));
    }
  }
}

TEST(Deviation, OfWhatIsKnownToBeFiniteIsTheSame) {
  const auto same_or_nan = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };  // sums overflow
  each_pair_of_finite([&](const InstructionSet& isa, const std::vector<double>& x, const std::vector<double>& y) {
    for (const bool centred_alone : {false, true}) {
      DeviationRule rule{.format = bf16, .floor = 0.01, .centre = 0.1, .centred_alone = centred_alone};
      const DeviationSums any = isa.deviation(x.data(), y.data(), static_cast<int>(x.size()), rule);
      rule.all_finite = true;
      const DeviationSums known = isa.deviation(x.data(), y.data(), static_cast<int>(x.size()), rule);
      for (const auto sum : {&DeviationSums::absolute, &DeviationSums::plain, &DeviationSums::square, &DeviationSums::centred,
                             &DeviationSums::xy, &DeviationSums::xx, &DeviationSums::yy})
        EXPECT_TRUE(std::ranges::equal(any.*sum, known.*sum, same_or_nan));
      if (centred_alone) continue;
      EXPECT_EQ(any.max_abs, known.max_abs);
      EXPECT_EQ(any.max_ulp, known.max_ulp);
      EXPECT_EQ(any.worst, known.worst);
      EXPECT_EQ(any.finite, known.finite);
      EXPECT_EQ(any.ulps.counts, known.ulps.counts);
    }
  });
}

TEST(Gaps, OfEveryInstructionSetAreThoseOfOneChainAfterTheOther) {
  each_pair_of_finite([](const InstructionSet& isa, const std::vector<double>& x, const std::vector<double>& y) {
    double found[chains], expected[chains] = {};
    isa.gaps(x.data(), y.data(), static_cast<int>(x.size()), found);
    for (std::size_t i = 0; i < x.size(); ++i) expected[i % chains] += std::fabs(x[i] - y[i]);
    EXPECT_TRUE(std::ranges::equal(found, expected)) << "no sum of magnitudes is NaN";
  });
}

TEST(BitsOfMagnitudes, OfEveryInstructionSetAreThoseOfOneNumberAfterTheOther) {
  each_pair_of_finite([](const InstructionSet& isa, std::vector<double> x, const std::vector<double>&) {
    if (x.size() > 3) x[1] = -(x[2] = 0.0);
    constexpr std::uint64_t size = ~std::uint64_t{0} >> 1;
    BitsOfMagnitudes expected;
    for (const double v : x) {
      const std::uint64_t bits = std::bit_cast<std::uint64_t>(v) & size;
      expected.all |= bits;
      expected.greatest = std::max(expected.greatest, bits);
      if (bits != 0) expected.below = std::min(expected.below, bits - 1);
    }
    const BitsOfMagnitudes found = isa.magnitudes(x.data(), x.size());
    EXPECT_EQ(found.all, expected.all);
    EXPECT_EQ(found.below, expected.below);
    EXPECT_EQ(found.greatest, expected.greatest);
  });
}

TEST(SortedValues, AreInOrderHoweverMuchTheNumbersLookAlike) {
  Dice dice(6);
  for (const int alike : {0, 1, 20, 40, 52}) {  // number of low mantissa bits that differ; 0: any numbers
    for (const std::size_t count : {0, 1, 2, 63, 64, 65, 66, 1000, 70000, 140000}) {
      std::vector<double> x = any_numbers(dice, count, false);
      for (double& v : x)
        if (alike > 0 && !dice.one_in(100)) v = std::bit_cast<double>(0x3ff0000000000000u | (dice.bits() >> (64 - alike)));
      std::vector<double> expected = x;
      std::ranges::sort(expected);
      const std::vector<double> sorted = sorted_values(x);
      EXPECT_TRUE(std::ranges::equal(sorted, expected)) << alike << " bits, " << count << " numbers";
    }
  }
}

TEST(SortedValues, AreInOrderWhateverTheirRange) {
  Dice dice(8);
  for (const double outlier : {0.0, 1.0, 1e9, 1e300, infinity})
    for (const Format& format : {fp64, bf16, fp16, e4m3}) {
      std::vector<double> x(30000);
      for (double& v : x) v = round(format, dice.normal());
      for (const double v : {0.0, -0.0, outlier, -outlier}) x[static_cast<std::size_t>(dice.between(0, 29999))] = v;
      std::vector<double> expected = x;
      std::ranges::sort(expected);
      EXPECT_TRUE(std::ranges::equal(sorted_values(x), expected)) << name(format) << " with " << outlier;
    }
}

TEST(Deviation, LeavesOutTheOrderAlone) {
  const Matrix x = drawn(200, 64, 1), y = drawn(200, 64, 2);
  const Deviation whole = between(x, y);
  Deviation d = unordered_deviation(unsorted(x), unsorted(y), bf16);
  EXPECT_TRUE(std::isnan(d.wasserstein));
  EXPECT_TRUE(std::isnan(wasserstein(unsorted(x), measured(y))));
  d.wasserstein = wasserstein(measured(x), measured(y));
  EXPECT_EQ(numbers_of(d), numbers_of(whole));
  EXPECT_EQ(d.ulps.counts, whole.ulps.counts);
}

TEST(RangeOf, IsThatOfTheMagnitudes) {
  Dice dice(7);
  for (int i = 0; i < 300; ++i) {
    std::vector<double> x = any_numbers(dice, static_cast<std::size_t>(dice.between(0, 40)), dice.one_in(3));
    if (dice.one_in(9)) std::ranges::fill(x, dice.any(std::array{0.0, -0.0, infinity, std::nan("")}));
    double smallest = infinity, largest = 0;
    for (const double v : x) {
      if (std::fabs(v) > 0) smallest = std::min(smallest, std::fabs(v));
      largest = std::isnan(v) ? infinity : std::max(largest, std::fabs(v));
    }
    const Magnitudes found = range_of(std::span<const double>(x), 7);
    EXPECT_EQ(found.largest, largest);
    EXPECT_EQ(found.smallest, largest == 0 ? 0 : smallest);
    EXPECT_EQ(found.mantissa_bits, 7);
  }
}

TEST(Digest, SeesEveryBitAndOneNan) {
  const Matrix m = row({0.0, 1.0, 2.0});
  EXPECT_EQ(digest(m), digest(row({0.0, 1.0, 2.0})));
  EXPECT_NE(digest(m), digest(row({-0.0, 1.0, 2.0})));
  EXPECT_NE(digest(m), digest(row({1.0, 0.0, 2.0})));
  EXPECT_NE(digest(m), digest(row({0.0, 1.0, 2.0 + 0x1p-51})));
  EXPECT_EQ(digest(row({std::numeric_limits<double>::quiet_NaN()})),
            digest(row({-std::numeric_limits<double>::signaling_NaN()})));
}

}  // namespace
}  // namespace attoscope
