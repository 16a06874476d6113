/// The emulated fma of an instruction set without fma, against the library's fma and against the same code for one number.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "kernels/experiment/matrix.h"
#include "kernels/lanes/micro_kernel.h"
#include "kernels/train/primitives/product_lanes.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

using namespace ATTOSCOPE_ISA;
using namespace testing;  // attoscope::testing

static_assert(Lane<DoubleV>::emulates_fma && Lane<FloatV>::emulates_fma, "tests are compiled without fma");

/// Any number, short fractions, the ends of the format, and numbers from its middle.
template <class T>
T factor(Dice& dice) {
  using Bits = typename Layout<T>::Bits;
  constexpr T limits[] = {0,
                          std::numeric_limits<T>::min(),
                          std::numeric_limits<T>::denorm_min(),
                          std::numeric_limits<T>::max(),
                          std::numeric_limits<T>::infinity(),
                          std::numeric_limits<T>::quiet_NaN(),
                          1};
  const T sign = dice.one_in(2) ? -1 : 1;
  switch (dice.between(0, 9)) {
    case 0:
      return sign * dice.any(limits);
    case 1:
      return std::bit_cast<T>(static_cast<Bits>(dice.bits()));
    case 2:
      return sign * std::ldexp(static_cast<T>(dice.between(1, 40)), dice.between(-4, 4));
    case 3:
      return sign * std::nextafter(std::ldexp(T(1), dice.between(-4, 4)), static_cast<T>(dice.between(0, 1) * 100));
    case 4:
      return sign * std::ldexp(static_cast<T>(1 + dice.unit()), dice.between(Layout<T>::min_exponent, Layout<T>::max_exponent));
    default:
      return sign * std::ldexp(static_cast<T>(1 + dice.unit()), dice.between(-3, 3));
  }
}

/// A summand that makes a*b + c hard to round: about -product, the product or its rest scaled, or far larger.
template <class T>
T summand(Dice& dice, T a, T b) {
  const T product = a * b, rest = std::fma(a, b, -product);
  switch (dice.between(0, 7)) {
    case 0:
      return -product;
    case 1:
      return std::nextafter(-product, T(0));
    case 2:
      return std::ldexp(dice.one_in(2) ? product : rest, dice.between(-60, 60));
    case 3:  // the product is about half of the summand's last bit
      return std::ldexp(static_cast<T>(dice.between(8, 15)),
                        std::isfinite(product) && product != 0 ? std::ilogb(product) + Layout<T>::mantissa_bits - 2 : 0);
    case 4:
      return -rest;
    default:
      return factor<T>(dice);
  }
}

template <class T>
void expect_fma() {
  using V = typename Lanes<T>::V;
  Dice dice(1);
  int wrong = 0;
  for (int i = 0; i < 400000; ++i) {
    V a{}, b{}, c{};
    for (int lane = 0; lane < Lanes<T>::width; ++lane) {
      a[lane] = factor<T>(dice);
      b[lane] = factor<T>(dice);
      c[lane] = summand<T>(dice, a[lane], b[lane]);
    }
    const V found = fused(a, b, c);
    for (int lane = 0; lane < Lanes<T>::width; ++lane)
      if (!same<T>(found[lane], std::fma(a[lane], b[lane], c[lane])) && wrong++ < 10)
        ADD_FAILURE() << std::hexfloat << a[lane] << " * " << b[lane] << " + " << c[lane] << " is " << found[lane];
  }
  EXPECT_EQ(wrong, 0);
}
TEST(EmulatedFma, GivesTheLibrarysBitsInFloat) { expect_fma<float>(); }
TEST(EmulatedFma, GivesTheLibrarysBitsInDouble) { expect_fma<double>(); }

/// Numbers near multiples of ln 2 and of halves of it, short fractions, tiny numbers, any number.
template <class T>
T exponent(Dice& dice) {
  switch (dice.between(0, 7)) {
    case 0:
      return static_cast<T>(dice.between(-64, 64)) / 8;
    case 1:
      return static_cast<T>(dice.between(-200, 200) * 0.34657359027997264);
    case 2:
      return std::ldexp(static_cast<T>(dice.unit()), -dice.between(0, 8 * sizeof(T) * 17));
    case 3:
      return factor<T>(dice);
    default:
      return static_cast<T>(60 * dice.unit() - 50);
  }
}

bool is_normal(auto x) { return x > 0 && std::isnormal(x); }

/// Compares logarithms of u in (0, 1], as in drawn inputs, and of any number.
template <class T>
void expect_logarithms() {
  using V = typename Lanes<T>::V;
  Dice dice(4);
  int wrong = 0;
  for (int i = 0; i < 200000; ++i) {
    V x{};
    for (int lane = 0; lane < Lanes<T>::width; ++lane)
      x[lane] = dice.one_in(3) ? factor<T>(dice)
                               : static_cast<T>(1 - std::ldexp(dice.unit(), -dice.any(std::array{0, 0, 0, 20, 50})));
    const V y = logarithm(x), beside = logarithm_of_normal(Several<V, 2>{{x, splat<V>(T(i + 1))}}).x[0];
    for (int lane = 0; lane < Lanes<T>::width; ++lane)
      if (!(same<T>(y[lane], logarithm(x[lane])) && (!is_normal(x[lane]) || same<T>(beside[lane], y[lane]))) && wrong++ < 10)
        ADD_FAILURE() << "the logarithm of " << std::hexfloat << x[lane];
  }
  EXPECT_EQ(wrong, 0);
}
TEST(EmulatedFma, GivesLogarithmsTheBitsOfTheirNumbersInFloat) { expect_logarithms<float>(); }
TEST(EmulatedFma, GivesLogarithmsTheBitsOfTheirNumbersInDouble) { expect_logarithms<double>(); }

TEST(EmulatedFma, GivesSinesAndCosinesTheBitsOfTheirNumbers) {
  Dice dice(5);
  int wrong = 0;
  for (int i = 0; i < 200000; ++i) {
    DoubleV turns{};
    for (int lane = 0; lane < Lanes<double>::width; ++lane)
      turns[lane] = dice.one_in(4) ? dice.between(0, 63) / 64.0 : std::ldexp(dice.unit(), -dice.any(std::array{0, 0, 20, 50}));
    const SinCos<DoubleV> found = sincos_turns(Several<DoubleV, 2>{{1 - turns, turns}}).x[1];
    for (int lane = 0; lane < Lanes<double>::width; ++lane) {
      const SinCos<double> one = sincos_turns(turns[lane]);
      if (!(same(found.sin[lane], one.sin) && same(found.cos[lane], one.cos)) && wrong++ < 10)
        ADD_FAILURE() << "sine or cosine of " << std::hexfloat << turns[lane] << " turns";
    }
  }
  EXPECT_EQ(wrong, 0);
}

template <class T>
void expect_exponentials() {
  using V = typename Lanes<T>::V;
  constexpr int count = 4;
  Dice dice(2);
  int wrong = 0;
  for (int i = 0; i < 100000; ++i) {
    Several<V, count> x{};
    for (V& v : x.x)
      for (int lane = 0; lane < Lanes<T>::width; ++lane) v[lane] = exponent<T>(dice);
    const Several<V, count> e = exponential(x);
    for (int k = 0; k < count; ++k) {
      const V power = exponential2(x.x[k]), polynomial = exponential2_polynomial(x.x[k], 1 + i % 5);
      for (int lane = 0; lane < Lanes<T>::width; ++lane) {
        const T one = x.x[k][lane];
        const bool right = same<T>(e.x[k][lane], exponential(one)) && same<T>(power[lane], exponential2(one)) &&
                           same<T>(polynomial[lane], exponential2_polynomial(one, 1 + i % 5));
        if (!right && wrong++ < 10) ADD_FAILURE() << "the exponentials of " << std::hexfloat << one;
      }
    }
  }
  EXPECT_EQ(wrong, 0);
}
TEST(EmulatedFma, GivesExponentialsTheBitsOfTheirNumbersInFloat) { expect_exponentials<float>(); }
TEST(EmulatedFma, GivesExponentialsTheBitsOfTheirNumbersInDouble) { expect_exponentials<double>(); }

/// The product is half of an odd number's last bit times (1 + 2^-n) (1 - 2^-n), just below the half, and rounds to the half.
template <class T>
void expect_doubt(int n) {
  using V = typename Lanes<T>::V;
  const T half = std::ldexp(T(1), -Layout<T>::mantissa_bits - 1), odd = 1 + 2 * half, x = std::ldexp(T(1), -n);
  const V a = splat<V>(half * (1 + x)), b = splat<V>(1 - x), c = splat<V>(odd);
  LikelyFma<V> fma;
  EXPECT_EQ(fma(a, splat<V>(T(0.75)), c)[0], odd);
  EXPECT_FALSE(fma.is_in_doubt());
  EXPECT_EQ(fma(a, b, c)[0], odd + 2 * half) << "halfway, to even";
  EXPECT_TRUE(fma.is_in_doubt());
  EXPECT_EQ(with_fma<V>([=](auto& any) { return any(a, b, c); })[0], odd);
}
TEST(LikelyFma, IsInDoubtWhereItMayBeRoundedTwiceInFloat) { expect_doubt<float>(18); }
TEST(LikelyFma, IsInDoubtWhereItMayBeRoundedTwiceInDouble) { expect_doubt<double>(27); }

/// P.V of a block, as the lanes compute it.
template <class T>
struct Question {
  int columns, depth, first_key;
  std::vector<T> v{};
  alignas(64) T p[key_chunk * Lanes<T>::rows]{};
  alignas(64) T c[8 * Lanes<T>::rows]{};
  bool resume = false;
  std::vector<ValueSpan> spans{};
  Magnitudes of_v{};
};

template <class T>
Question<T> question(Dice& dice) {
  Question<T> q{.columns = dice.between(1, 8),
                .depth = dice.one_in(3) ? key_chunk : dice.between(1, key_chunk),
                .first_key = dice.one_in(2) ? key_chunk : dice.between(0, 200),
                .resume = dice.one_in(2)};
  const int bits = dice.any(std::array{4, 8, 8, 11, 24}), spread = dice.any(std::array{0, 0, 0, 3, 30}),
            spread_p = dice.any(std::array{0, 0, 6, 30, 250}), zeros = dice.any(std::array{3, 50, 1000000});
  q.v.resize(static_cast<std::size_t>(q.depth * q.columns));
  for (T& v : q.v) {
    const double x = std::ldexp(dice.normal(), dice.between(-spread, spread));
    v = static_cast<T>(dice.one_in(zeros) ? 0 : round(Format{11, bits - 1}, x));
  }
  const int bits_p = dice.any(std::array{1, 8, 53, 53, 53});
  for (T& p : q.p)
    p = static_cast<T>(dice.one_in(zeros) ? 0
                                          : round(Format{11, bits_p - 1},
                                                  std::exp2(-dice.between(0, spread_p)) * std::exp(dice.normal()) / 1024));
  for (T& c : q.c) c = static_cast<T>(dice.one_in(zeros) ? 0 : std::ldexp(dice.normal(), dice.any(std::array{-5, -5, -40})));
  if (dice.one_in(9)) q.p[dice.between(0, q.depth - 1)] = factor<T>(dice);
  if (dice.one_in(9)) q.c[dice.between(0, q.columns - 1)] = factor<T>(dice);

  const int first = q.first_key / keys_of_a_span, last = (q.first_key + q.depth - 1) / keys_of_a_span;
  q.spans.resize(static_cast<std::size_t>((last + 1) * q.columns));
  typename Layout<T>::Bits all = 0;
  q.of_v.smallest = std::numeric_limits<double>::infinity();
  for (int i = first * keys_of_a_span; i <= q.first_key + q.depth - 1; ++i)
    for (int column = 0; i >= q.first_key && column < q.columns; ++column) {
      const T v = q.v[static_cast<std::size_t>((i - q.first_key) * q.columns + column)];
      ValueSpan& span = q.spans[static_cast<std::size_t>(i / keys_of_a_span * q.columns + column)];
      const double size = std::fabs(static_cast<double>(v));
      span.sum += size;
      all |= std::bit_cast<typename Layout<T>::Bits>(v);
      q.of_v.largest = std::max(q.of_v.largest, size);
      if (size == 0) continue;
      q.of_v.smallest = std::min(q.of_v.smallest, size);
      double unit = std::ldexp(1.0, std::ilogb(size));
      while (std::fmod(size, unit) != 0) unit /= 2;
      span.unit = std::min(span.unit, unit);
    }
  if (q.of_v.largest == 0) q.of_v.smallest = 0;
  q.of_v.mantissa_bits = used_mantissa_bits<T>(all);
  return q;
}

/// Compares products computed without emulation with chains of fma, bit for bit, for `questions` random blocks.
template <class T>
void expect_products(int questions) {
  constexpr int rows = Lanes<T>::rows;
  Dice dice(3);
  int without_emulation = 0, wrong = 0;
  for (int i = 0; i < questions; ++i) {
    Question<T> q = question<T>(dice);
    T before[8 * rows];
    std::ranges::copy(q.c, before);
    KeysProduct<T> product{.a = q.v.data(),
                           .m_stride = 1,
                           .k_stride = q.columns,
                           .b = q.p,
                           .c = q.c,
                           .m = q.columns,
                           .depth = q.depth,
                           .resume = q.resume,
                           .first_k = q.first_key,
                           .group = LaneGroup{dice.one_in(4) ? Lanes<T>::width : rows}};
    product.ranges = {.a = &q.of_v, .spans = q.spans.data()};
    if (!emulated_product<false>(product, RounderPlan<T>{}, false)) continue;
    ++without_emulation;
    const int own = product.group.rows;
    for (int column = 0; column < q.columns; ++column)
      for (int row = 0; row < own; ++row) {
        T sum = q.resume ? before[column * rows + row] : T(0);
        for (int k = 0; k < q.depth; ++k)
          sum = std::fma(q.v[static_cast<std::size_t>(k * q.columns + column)], q.p[k * rows + row], sum);
        if (!same(sum, q.c[column * rows + row]) && wrong++ < 10)
          ADD_FAILURE() << "question " << i << ", column " << column << ", row " << row << std::hexfloat << ": "
                        << q.c[column * rows + row] << " instead of " << sum;
      }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(without_emulation, questions / 5);
  EXPECT_LT(without_emulation, questions);
}
TEST(EmulatedProduct, GivesTheBitsOfChainsOfFmaInFloat) { expect_products<float>(6000); }
TEST(EmulatedProduct, GivesTheBitsOfChainsOfFmaInDouble) { expect_products<double>(12000); }

/// `count` normal numbers of `bits` bits, times powers of two from 2^-spread to 2^spread.
template <class T>
std::vector<T> numbers(Dice& dice, int count, int bits, int spread) {
  std::vector<T> x;
  for (int i = 0; i < count; ++i)
    x.push_back(static_cast<T>(round(Format{11, bits - 1}, std::ldexp(dice.normal(), dice.between(-spread, spread)))));
  return x;
}

/// Compares products of matrices with chains of std::fma, bit for bit: exact and inexact products, among them sums that a
/// likely fma rounds twice, and numbers from the ends of the format.
template <class T>
void expect_matrix_products(int questions) {
  constexpr bool is_float = std::is_same_v<T, float>;
  constexpr int doubt = is_float ? 18 : 27, wide = is_float ? 100 : 500, all_bits = Layout<T>::mantissa_bits + 1;
  const T half = std::ldexp(T(1), -all_bits), x = std::ldexp(T(1), -doubt);
  Dice dice(5);
  std::map<QuickFma, int> kinds;
  int wrong = 0;
  for (int question = 0; question < questions; ++question) {
    const int m = dice.between(1, 15), n = dice.between(1, Lanes<T>::rows), k = dice.between(2, 600);
    const int bits = dice.any(std::array{8, 11, all_bits, all_bits}), spread = dice.any(std::array{0, 3, 3, wide});
    std::vector<T> a = numbers<T>(dice, m * k, bits, spread), b = numbers<T>(dice, k * n, bits, spread), c(at(m) * at(n));
    if (dice.one_in(9)) a[at(dice.between(0, m * k - 1))] = factor<T>(dice);
    const bool a_by_rows = dice.one_in(2), b_by_rows = dice.one_in(2);
    const MatrixProduct<T> p{.a = a.data(),
                             .a_row = a_by_rows ? k : 1,
                             .a_col = a_by_rows ? 1 : m,
                             .b = b.data(),
                             .b_row = b_by_rows ? n : 1,
                             .b_col = b_by_rows ? 1 : k,
                             .c = c.data(),
                             .c_row = n,
                             .m = m,
                             .n = n,
                             .k = k};
    if (bits == all_bits && dice.one_in(3)) {
      a[0] = 1 + 2 * half, b[0] = 1;
      a[at(static_cast<int>(p.a_col))] = half * (1 + x), b[at(static_cast<int>(p.b_row))] = 1 - x;
    }
    ++kinds[quick_fma<T>(measured(a.data(), 1, 0, m * k), measured(b.data(), 1, 0, k * n))];
    alignas(64) static T scratch[(ProductShape<T>::stretch + 2 * 18) * ProductShape<T>::panel_columns];
    product_part<T>(p, {0, m, 0, n}, scratch);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        T sum = 0;
        for (int l = 0; l < k; ++l) sum = std::fma(p.a[i * p.a_row + l * p.a_col], p.b[l * p.b_row + j * p.b_col], sum);
        if (!same(sum, c[at(i * n + j)]) && wrong++ < 10)
          ADD_FAILURE() << "question " << question << ": " << std::hexfloat << c[at(i * n + j)] << " instead of " << sum;
      }
  }
  EXPECT_EQ(wrong, 0);
  for (const QuickFma kind : {QuickFma::exact_product, QuickFma::likely, QuickFma::none}) EXPECT_GT(kinds[kind], questions / 9);
}
TEST(EmulatedProduct, GivesMatricesTheBitsOfChainsOfFmaInFloat) { expect_matrix_products<float>(2000); }
TEST(EmulatedProduct, GivesMatricesTheBitsOfChainsOfFmaInDouble) { expect_matrix_products<double>(2000); }

TEST(EmulatedProduct, IsInPartsWhereGoldenValuesAre) {
  // a chunk of 64 keys of 1024, N(0, 1) in bf16
  const SizesOfSums sizes{.top = 1, .largest_b = 0x1p-6, .unit_b = 0x1p-67, .unit_c = 0x1p-70};
  const double grid = sizes.grid();
  EXPECT_TRUE(sizes.allow_parts(grid, {.sum = 52, .unit = 0x1p-14}));
  EXPECT_FALSE(sizes.allow_parts(grid, {.sum = 52, .unit = 0x1p-20})) << "too fine for the grid";
  EXPECT_FALSE(sizes.allow_parts(grid / 1024, {.sum = 52, .unit = 0x1p-14})) << "sums pass 2^53 spacings";
  EXPECT_FALSE(sizes.allow_parts(grid * 1024, {.sum = 52, .unit = 0x1p-14})) << "the rest passes 2^53 units";
  EXPECT_FALSE(sizes.allow_parts(grid, {})) << "zeros have no unit";
}

}  // namespace
}  // namespace attoscope
