/// exp, log and sincos from IEEE operations alone: the same source lines for a number, a vector of lanes and a GPU thread,
/// so that every machine gives the same bits. V is float, double or a vector of either.
#pragma once

#include <cmath>

#include "kernels/format.h"

namespace attoscope {

/// The element and integer types of V, and a*b + c with one rounding. Vectors specialise it where they are defined.
template <class V>
struct Lane;
template <>
struct Lane<float> {
  using Scalar = float;
  using Int = std::int32_t;
#ifdef __CUDA_ARCH__
  ATTOSCOPE_HD static float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
#else
  ATTOSCOPE_HD static float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#endif
};
template <>
struct Lane<double> {
  using Scalar = double;
  using Int = std::int64_t;
#ifdef __CUDA_ARCH__
  ATTOSCOPE_HD static double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
#else
  ATTOSCOPE_HD static double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#endif
};

/// a*b + c with one rounding.
template <class V>
ATTOSCOPE_HD V fused(V a, V b, V c) {
  return Lane<V>::fused(a, b, c);
}

/// x in every lane (x - 0, which keeps every x, -0 included, and costs nothing).
template <class V>
ATTOSCOPE_HD V splat(typename Lane<V>::Scalar x) {
  return x - V{};
}

/// The integers that V's bits spell, and back.
template <class V>
ATTOSCOPE_HD typename Lane<V>::Int bits_of(V x) { return bit_as<typename Lane<V>::Int>(x); }
template <class V>
ATTOSCOPE_HD V from_bits(typename Lane<V>::Int x) { return bit_as<V>(x); }

/// 2^k for normal results, k an integer (a vector of integers).
template <class V>
ATTOSCOPE_HD V exponent_bits_to_value(typename Lane<V>::Int k) {
  using L = Layout<typename Lane<V>::Scalar>;
  return from_bits<V>((k + L::max_exponent) << L::mantissa_bits);
}

template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  static constexpr float lowest = -104.5f, highest = 89.0f;  // beyond: 0 and infinity
  static constexpr float log2_e = 0x1.715476p+0f, ln2_high = 0x1.62e43p-1f, ln2_low = -0x1.05c61p-29f;
  static constexpr float magic = 0x1.8p23f;
  // (exp(r) - 1 - r) / r^2 on |r| <= ln(2)/2, minimax in relative error of exp
  static constexpr int terms = 5;
  static constexpr float c[terms] = {0x1.fffffcp-2f, 0x1.55549p-3f, 0x1.5558f4p-5f, 0x1.123a6cp-7f, 0x1.6a2352p-10f};
};
template <>
struct ExpConstants<double> {
  static constexpr double lowest = -746.0, highest = 710.0;
  static constexpr double log2_e = 0x1.71547652b82fep+0, ln2_high = 0x1.62e42fefa39efp-1, ln2_low = 0x1.abc9e3b39803fp-56;
  static constexpr double magic = 0x1.8p52;
  static constexpr int terms = 10;
  static constexpr double c[terms] = {0x1.000000000000ap-1,  0x1.55555555554f9p-3,  0x1.55555555507f1p-5, 0x1.1111111127e83p-7,
                                      0x1.6c16c1844b01cp-10, 0x1.a01a0129b4612p-13, 0x1.a01999adcb23bp-16,
                                      0x1.71df262c451e1p-19, 0x1.28adce7339679p-22, 0x1.ad7f02ab63935p-26};
};

/// e^x, at most 1.03 ulp from the true value in float and 1 ulp in double, subnormal results included; NaN gives NaN.
/// Cody-Waite reduction x = n ln 2 + r, then 1 + (r + r^2 q(r)), then two exact-but-for-the-last scalings by powers of two.
template <class V>
ATTOSCOPE_HD V exponential(V x) {
  using T = typename Lane<V>::Scalar;
  using K = ExpConstants<T>;
  V y = x < K::lowest ? splat<V>(K::lowest) : x;
  y = y > K::highest ? splat<V>(K::highest) : y;
  const V shifted = fused(y, splat<V>(K::log2_e), splat<V>(K::magic));
  const V n = shifted - K::magic;
  const V high = fused(n, splat<V>(-K::ln2_high), y);
  const V r = fused(n, splat<V>(-K::ln2_low), high);
  V q = splat<V>(K::c[K::terms - 1]);
  for (int i = K::terms - 2; i >= 0; --i) q = fused(q, r, splat<V>(K::c[i]));
  V p;
  if constexpr (sizeof(T) == sizeof(double)) {  // what r lost in rounding is added back
    p = (fused(r * r, q, fused(n, splat<V>(-K::ln2_low), high - r)) + r) + T{1};
  } else {
    p = fused(r * r, q, r) + T{1};
  }
  // 2^n = 2^half * 2^(n - half): both factors are normal, so only the last product can round (into the subnormals)
  const V half_shifted = fused(n, splat<V>(T(0.5)), splat<V>(K::magic));
  const auto magic_bits = bits_of(splat<V>(K::magic));
  const auto whole = bits_of(shifted) - magic_bits, half = bits_of(half_shifted) - magic_bits;
  const V result = p * exponent_bits_to_value<V>(half) * exponent_bits_to_value<V>(whole - half);
  return x != x ? x : result;
}

/// ln x for normal positive doubles, to about 1 ulp: x = 2^k m, m in [sqrt(1/2), sqrt(2)), ln m = 2 atanh((m-1)/(m+1)).
template <class V>
ATTOSCOPE_HD V logarithm(V x) {
  using L = Layout<double>;
  const auto root_half = bits_of(splat<V>(0x1.6a09e667f3bcdp-1));
  const auto offset = bits_of(x) - root_half;
  // exponent by shifting the biased difference, which is kept positive so that a logical shift serves
  const auto steps = static_cast<typename Lane<V>::Int>((offset + (std::int64_t{1024} << L::mantissa_bits)) >> L::mantissa_bits);
  const auto k = steps - 1024;
  const V m = from_bits<V>(bits_of(x) - (k << L::mantissa_bits));
  const V k_value = from_bits<V>(bits_of(splat<V>(0x1.8p52)) + k) - 0x1.8p52;
  const V f = (m - 1.0) / (m + 1.0), f2 = f * f;
  V s = splat<V>(2.0 / 25);
  for (int i = 23; i >= 3; i -= 2) s = fused(s, f2, splat<V>(2.0 / i));
  const V tail = fused(f * f2, s, k_value * 0x1.abc9e3b39803fp-56);
  return fused(k_value, splat<V>(0x1.62e42fefa39efp-1), fused(f, splat<V>(2.0), tail));
}

template <class V>
struct SinCos {
  V sin, cos;
};

/// sin and cos of 2 pi u, u in [0, 1), to about 1 ulp of 1.
template <class V>
ATTOSCOPE_HD SinCos<V> sincos_turns(V u) {
  const V shifted = u * 4.0 + 0x1.8p52, quarter = shifted - 0x1.8p52;
  const V x = (u * 4.0 - quarter) * 0x1.921fb54442d18p+0, x2 = x * x;
  constexpr double s[] = {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0, -1.0 / 1307674368000.0};
  constexpr double c[] = {-1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600.0, -1.0 / 87178291200.0,
                          1.0 / 20922789888000.0};
  V ps = splat<V>(s[6]), pc = splat<V>(c[7]);
  for (int i = 5; i >= 0; --i) ps = fused(ps, x2, splat<V>(s[i]));
  for (int i = 6; i >= 0; --i) pc = fused(pc, x2, splat<V>(c[i]));
  const V sine = fused(x * x2, ps, x), cosine = fused(x2, pc, splat<V>(1.0));
  const V odd = quarter - ((quarter * 0.5 + 0x1.8p52) - 0x1.8p52) * 2.0;  // 0, or +-1 in odd quarters
  const V a = odd != 0.0 ? cosine : sine, b = odd != 0.0 ? sine : cosine;
  // quarters 0..4: sin gets - in 2 and 3, cos in 1 and 2
  const V sin_sign = quarter == 2.0 ? splat<V>(-1.0) : (quarter == 3.0 ? splat<V>(-1.0) : splat<V>(1.0));
  const V cos_sign = quarter == 1.0 ? splat<V>(-1.0) : (quarter == 2.0 ? splat<V>(-1.0) : splat<V>(1.0));
  return {a * sin_sign, b * cos_sign};
}

}  // namespace attoscope
