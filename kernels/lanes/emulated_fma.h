/// a*b + c with one rounding, for vectors of an instruction set without fma. Included by vector_lanes.h.
///
/// The exact sum of a*b and c is a sum of two or three numbers (T. J. Dekker, Numer. Math. 18 (1971), D. E. Knuth's 2Sum). All
/// but the largest are added with rounding to odd; then the last addition rounds the exact sum (S. Boldo, G. Melquiond,
/// "Emulation of FMA and correctly rounded sums", IEEE Trans. Computers 57 (2008)).
#pragma once

#include "kernels/lanes/lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Rounding error of sum = a + b.
ATTOSCOPE_HOST_DEVICE_INLINE DoubleV lost_by_sum(DoubleV a, DoubleV b, DoubleV sum) {
  const DoubleV z = sum - a;
  return (a - (sum - z)) + (b - z);
}
/// `lost_by_sum` for |a| >= |b|, or if a + b is a double.
ATTOSCOPE_HOST_DEVICE_INLINE DoubleV lost_by_quick_sum(DoubleV a, DoubleV b, DoubleV sum) { return b - (sum - a); }

/// x = high + low.
struct Halves {
  DoubleV high, low;
};
inline constexpr std::uint64_t low_27_bits = (std::uint64_t{1} << 27) - 1;
/// Splits x into two halves of 26 bits each, for |x| below about 2^1020.
ATTOSCOPE_HOST_DEVICE_INLINE Halves rounded_halves(DoubleV x) {
  const DoubleV high = DoubleV((UInt64V(x) + (std::uint64_t{1} << 26)) & ~low_27_bits);
  return {high, x - high};
}
/// Splits x into 26 and 27 bits.
ATTOSCOPE_HOST_DEVICE_INLINE Halves cut_halves(DoubleV x) {
  const DoubleV high = DoubleV(UInt64V(x) & ~low_27_bits);
  return {high, x - high};
}
/// Rounding error of product = a*b, with one factor from cut_halves and the other from rounded_halves. Nothing may underflow.
ATTOSCOPE_HOST_DEVICE_INLINE DoubleV lost_by_product(Halves a, Halves b, DoubleV product) {
  return ((a.high * b.high - product) + a.high * b.low + a.low * b.high) + a.low * b.low;
}

/// Rounds x + lost to odd; x is the double nearest to the sum. Returns x if x is odd or nothing was lost.
ATTOSCOPE_HOST_DEVICE_INLINE DoubleV rounded_to_odd(DoubleV x, DoubleV lost) {
  const UInt64V bits = UInt64V(x), is_even = (bits & 1) - 1, is_negative = UInt64V(x < 0.0);
  const UInt64V away = UInt64V(lost < 0.0) - UInt64V(lost > 0.0);  // -1, 0 or 1: the sign of (sum - x) for positive x
  return DoubleV(bits + (((away ^ is_negative) - is_negative) & is_even));
}

/// True if a comparison holds in any lane.
ATTOSCOPE_HOST_DEVICE_INLINE bool any_of(Int64V x) { return _mm_movemask_pd(__m128d(x)) != 0; }
ATTOSCOPE_HOST_DEVICE_INLINE DoubleV magnitude(DoubleV x) { return DoubleV(UInt64V(x) & ~Layout<double>::sign); }

/// The library's fma, called lane by lane.
[[gnu::noinline]] inline DoubleV fused_by_library(DoubleV a, DoubleV b, DoubleV c) {
  for (int i = 0; i < 2; ++i) c[i] = __builtin_fma(a[i], b[i], c[i]);
  return c;
}

/// a*b + c; uses the library if an intermediate could overflow or underflow. The product of zero and a number is exact.
ATTOSCOPE_HOST_DEVICE_INLINE DoubleV emulated_fma(DoubleV a, DoubleV b, DoubleV c) {
  constexpr double low = 0x1p-900, high = 0x1p900;
  const DoubleV product = a * b, size = magnitude(product), zero{};
  const Int64V is_zero = (a == zero) | (b == zero);
  const Int64V is_inside =
      ((size >= low) | is_zero) & (size <= high) & (magnitude(a) <= high) & (magnitude(b) <= high) & (magnitude(c) <= high);
  if (any_of(~is_inside)) [[unlikely]]
    return fused_by_library(a, b, c);
  const DoubleV small = lost_by_product(cut_halves(a), rounded_halves(b), product);
  const DoubleV middle = c + small, sum = product + middle;
  const DoubleV rest = lost_by_sum(c, small, middle), lost = lost_by_sum(product, middle, sum), tail = rest + lost;
  const DoubleV result = sum + rounded_to_odd(tail, lost_by_sum(rest, lost, tail));
  return is_zero ? c + product : result;
}

/// Converts the lower or upper lanes of x to doubles, and back.
ATTOSCOPE_HOST_DEVICE_INLINE DoubleV lower_doubles(FloatV x) { return DoubleV(_mm_cvtps_pd(__m128(x))); }
ATTOSCOPE_HOST_DEVICE_INLINE DoubleV upper_doubles(FloatV x) {
  return DoubleV(_mm_cvtps_pd(_mm_movehl_ps(__m128(x), __m128(x))));
}
ATTOSCOPE_HOST_DEVICE_INLINE FloatV as_floats(DoubleV lower, DoubleV upper) {
  return FloatV(_mm_movelh_ps(_mm_cvtpd_ps(__m128d(lower)), _mm_cvtpd_ps(__m128d(upper))));
}

/// a*b + c of floats (as doubles), rounded to odd in double. Their product is exact in double.
ATTOSCOPE_HOST_DEVICE_INLINE DoubleV odd_fma_of_floats(DoubleV a, DoubleV b, DoubleV c) {
  const DoubleV product = a * b, sum = c + product;
  return rounded_to_odd(sum, lost_by_sum(c, product, sum));
}
ATTOSCOPE_HOST_DEVICE_INLINE FloatV emulated_fma(FloatV a, FloatV b, FloatV c) {
  return as_floats(odd_fma_of_floats(lower_doubles(a), lower_doubles(b), lower_doubles(c)),
                   odd_fma_of_floats(upper_doubles(a), upper_doubles(b), upper_doubles(c)));
}

/// a*b + c in a few operations, correct unless `is_in_doubt` is true afterwards: a result may have been rounded twice. For
/// chains of fma, where doubt is rare: see `by_likely_fma`.
template <class V>
class LikelyFma;

/// Adds the rounding errors of the sum and the product first. Their rounded sum can make the last rounding wrong only if it is
/// half the distance between two doubles, a power of two. Nothing may overflow; underflow counts as doubt.
template <>
class LikelyFma<DoubleV> {
 public:
  /// a*b + c for |c| >= |a*b|.
  ATTOSCOPE_HOST_DEVICE_INLINE DoubleV operator()(DoubleV a, DoubleV b, DoubleV c) {
    const DoubleV product = a * b, sum = c + product;
    return rounded(sum, lost_by_quick_sum(c, product, sum) + lost_by_product(cut_halves(a), rounded_halves(b), product));
  }
  ATTOSCOPE_HOST_DEVICE_INLINE DoubleV in_any_order(DoubleV a, DoubleV b, DoubleV c) {
    const DoubleV product = a * b, sum = c + product;
    const DoubleV of_product = lost_by_product(cut_halves(a), rounded_halves(b), product);
    const DoubleV lost = lost_by_sum(c, product, sum) + of_product;
    doubt_ |= Int32V(of_product != 0.0) & (Int32V(UInt64V(lost) << 12) == 0);  // lost is exact if of_product is 0
    return sum + lost;
  }
  /// a*b + c for |c| >= |a*b|, or if c + round(a*b) is a double; the sum of both rounding errors must be a double.
  ATTOSCOPE_HOST_DEVICE_INLINE DoubleV beyond_doubt(DoubleV a, DoubleV b, DoubleV c) const {
    const DoubleV product = a * b, sum = c + product;
    return sum + (lost_by_quick_sum(c, product, sum) + lost_by_product(cut_halves(a), rounded_halves(b), product));
  }
  bool is_in_doubt() const { return _mm_movemask_pd(__m128d(doubt_)) != 0; }

 private:
  ATTOSCOPE_HOST_DEVICE_INLINE DoubleV rounded(DoubleV sum, DoubleV lost) {
    doubt_ |= Int32V(UInt64V(lost) << 12) == 0;  // tests the upper half of each double
    return sum + lost;
  }
  Int32V doubt_{};
};

/// Rounds the sum of doubles a second time, to float: wrong only if the sum is halfway between two floats.
template <>
class LikelyFma<FloatV> {
 public:
  ATTOSCOPE_HOST_DEVICE_INLINE FloatV operator()(FloatV a, FloatV b, FloatV c) {
    const DoubleV lower = lower_doubles(a) * lower_doubles(b) + lower_doubles(c),
                  upper = upper_doubles(a) * upper_doubles(b) + upper_doubles(c);
    const FloatV rest = FloatV(_mm_shuffle_ps(__m128(lower), __m128(upper), 0b10001000));  // the lower halves of the doubles
    doubt_ |= (Int32V(rest) & rest_bits) == half;
    return as_floats(lower, upper);
  }
  ATTOSCOPE_HOST_DEVICE_INLINE FloatV in_any_order(FloatV a, FloatV b, FloatV c) { return (*this)(a, b, c); }
  ATTOSCOPE_HOST_DEVICE_INLINE FloatV beyond_doubt(FloatV a, FloatV b, FloatV c) { return (*this)(a, b, c); }
  bool is_in_doubt() const { return _mm_movemask_ps(__m128(doubt_)) != 0; }

 private:
  static constexpr std::int32_t rest_bits = (1 << 29) - 1, half = 1 << 28;  ///< bits of a double beyond a float's mantissa
  Int32V doubt_{};
};

/// Range of magnitudes and used mantissa bits of `runs` times `length` numbers; infinite if a number is infinite or NaN.
template <class T>
Magnitudes measured(const T* x, int runs, std::ptrdiff_t stride, int length) {
  using V = typename Lanes<T>::V;
  using U = typename Lane<V>::UInt;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  V low = splat<V>(infinity), high{}, wild{};
  U any{};
  const auto take = [&](V v) {
    const V size = bit_as<V>(bit_as<U>(v) & ~Layout<T>::sign), some = size > T{0} ? size : low;
    any |= bit_as<U>(v);
    low = some < low ? some : low;
    high = size > high ? size : high;
    wild += v - v;  // 0, or NaN
  };
  for (int run = 0; run < runs; ++run, x += stride) {
    int i = 0;
    for (; i + Lanes<T>::width <= length; i += Lanes<T>::width) take(loaded<V>(x + i));
    for (; i < length; ++i) take(splat<V>(x[i]));
  }
  T smallest = infinity, largest = 0;
  typename Layout<T>::Bits bits = 0;
  bool is_wild = false;
  for (int lane = 0; lane < Lanes<T>::width; ++lane) {
    smallest = low[lane] < smallest ? low[lane] : smallest;
    largest = high[lane] > largest ? high[lane] : largest;
    bits |= any[lane];
    is_wild |= wild[lane] != T{0};
  }
  return {largest == 0 ? 0.0 : static_cast<double>(smallest),
          is_wild ? std::numeric_limits<double>::infinity() : static_cast<double>(largest), used_mantissa_bits<T>(bits)};
}
/// `measured` of a matrix; one stride must be 1, otherwise the range is infinite.
template <class T>
Magnitudes measured(const T* x, int rows, std::ptrdiff_t row_stride, int columns, std::ptrdiff_t column_stride) {
  if (column_stride == 1) return measured(x, rows, row_stride, columns);
  if (row_stride == 1) return measured(x, columns, column_stride, rows);
  return {0, std::numeric_limits<double>::infinity()};
}

/// True if T holds the product of any two numbers in these ranges.
template <class T>
bool has_exact_products(const Magnitudes& a, const Magnitudes& b) {
  constexpr double least = std::is_same_v<T, float> ? 0x1p-149 : 0x1p-1021,
                   most = std::is_same_v<T, float> ? 0x1p127 : 0x1p1000;
  if (a.largest == 0 || b.largest == 0) return a.largest + b.largest < most;
  return a.mantissa_bits + b.mantissa_bits + 1 <= Layout<T>::mantissa_bits && a.largest * b.largest < most &&
         a.smallest * b.smallest >= least * power_of_two<double>(a.mantissa_bits + b.mantissa_bits);
}

/// The fastest fma for products of numbers in these ranges. LikelyFma requires products whose rounding errors are numbers of T,
/// and sums that are exact or not subnormal. It would doubt half of many short products.
template <class T>
QuickFma quick_fma(const Magnitudes& a, const Magnitudes& b) {
  constexpr bool is_float = std::is_same_v<T, float>;
  constexpr double least = is_float ? 0x1p-126 : 0x1p-900, most = is_float ? 0x1p127 : 0x1p900;
  if (has_exact_products<T>(a, b)) return QuickFma::exact_product;
  const bool is_inside =
      a.largest < most && b.largest < most && a.largest * b.largest < most && a.smallest * b.smallest >= least;
  return is_inside && a.mantissa_bits + b.mantissa_bits > Layout<T>::mantissa_bits ? QuickFma::likely : QuickFma::none;
}

/// a*b + c if a*b is exact in T.
struct FmaOfExactProduct {
  template <class V>
  ATTOSCOPE_HOST_DEVICE_INLINE V in_any_order(V a, V b, V c) const {
    return a * b + c;
  }
  static constexpr bool is_in_doubt() { return false; }
};

/// Calls f with an fma that is always correct.
template <class F>
[[gnu::noinline]] auto by_sure_fma(const F& f) {
  SureFma fma;
  return f(fma);
}
/// Calls f with LikelyFma; repeats by `by_sure_fma` if a result is in doubt.
template <class V, class F>
ATTOSCOPE_HOST_DEVICE_INLINE auto by_likely_fma(const F& f) {
  LikelyFma<V> fma;
  const auto y = f(fma);
  return fma.is_in_doubt() ? by_sure_fma(f) : y;
}
/// Calls block(fma) with a quick fma. Returns false if there is none or a result is in doubt.
template <class V, class F>
ATTOSCOPE_HOST_DEVICE_INLINE bool by_quick_fma(QuickFma quick, const F& block) {
  FmaOfExactProduct plain;
  LikelyFma<V> likely;
  return quick == QuickFma::exact_product ? block(plain) : quick == QuickFma::likely && block(likely);
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
