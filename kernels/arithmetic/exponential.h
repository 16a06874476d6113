/// exp, log and sincos from IEEE operations only. The same source code serves scalars, vectors of lanes and GPU threads, and
/// gives the same bits on every machine. V is float, double or a vector of either.
#pragma once

#include <limits>

#include "kernels/arithmetic/format.h"

namespace attoscope {

/// Element and integer types of V, and a*b + c with one rounding. Vector types specialise it where they are defined.
template <class V>
struct Lane;
template <>
struct Lane<float> {
  using Scalar = float;
  using Int = std::int32_t;
  using UInt = std::uint32_t;
  static constexpr bool has_scale = false;     ///< true: `scaled(p, n)` gives p * 2^n in one operation
  static constexpr bool emulates_fma = false;  ///< true: `fused` takes many operations
#ifdef __CUDA_ARCH__
  ATTOSCOPE_HOST_DEVICE_INLINE static float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
#else
  ATTOSCOPE_HOST_DEVICE_INLINE static float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#endif
};
template <>
struct Lane<double> {
  using Scalar = double;
  using Int = std::int64_t;
  using UInt = std::uint64_t;
  static constexpr bool has_scale = false, emulates_fma = false;
#ifdef __CUDA_ARCH__
  ATTOSCOPE_HOST_DEVICE_INLINE static double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
#else
  ATTOSCOPE_HOST_DEVICE_INLINE static double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#endif
};

/// a*b + c with one rounding.
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V fused(V a, V b, V c) {
  return Lane<V>::fused(a, b, c);
}

/// `fused` for a product a*b that is exact in T.
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V fused_of_exact_product(V a, V b, V c) {
  if constexpr (Lane<V>::emulates_fma) return a * b + c;
  return fused(a, b, c);
}

/// `fused` in the interface of `with_fma`, for lanes that have an fma instruction.
struct SureFma {
  template <class V>
  ATTOSCOPE_HOST_DEVICE_INLINE V operator()(V a, V b, V c) const {
    return fused(a, b, c);
  }
  template <class V>
  ATTOSCOPE_HOST_DEVICE_INLINE V in_any_order(V a, V b, V c) const {
    return fused(a, b, c);
  }
  template <class V>
  ATTOSCOPE_HOST_DEVICE_INLINE V beyond_doubt(V a, V b, V c) const {
    return fused(a, b, c);
  }
  static constexpr bool is_in_doubt() { return false; }
};
/// Returns f(fma). fma(a, b, c) is `fused` for |c| >= |a*b|; `in_any_order` is `fused` for all a, b and c; `beyond_doubt` for a
/// c + round(a*b) whose error is 0 or has few bits. If fma is emulated, these are faster than `fused`.
template <class V, class F>
ATTOSCOPE_HOST_DEVICE_INLINE auto with_fma(const F& f) {
  if constexpr (Lane<V>::emulates_fma) {
    return Lane<V>::by_likely_fma(f);
  } else {
    SureFma fma;
    return f(fma);
  }
}

/// x in every lane. Computed as x - 0, which keeps every x, -0 included, and costs nothing.
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V splat(typename Lane<V>::Scalar x) {
  return x - V{};
}

/// Reinterprets V's bits as integers, and back.
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE typename Lane<V>::Int bits_of(V x) {
  return bit_as<typename Lane<V>::Int>(x);
}
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V from_bits(typename Lane<V>::Int x) {
  return bit_as<V>(x);
}

/// 2^k for normal results, k an integer (a vector of integers).
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V exponent_bits_to_value(typename Lane<V>::Int k) {
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
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr float c(int i) {
    constexpr float table[terms] = {0x1.fffffcp-2f, 0x1.55549p-3f, 0x1.5558f4p-5f, 0x1.123a6cp-7f, 0x1.6a2352p-10f};
    return table[i];
  }
};
template <>
struct ExpConstants<double> {
  static constexpr double lowest = -746.0, highest = 710.0;
  static constexpr double log2_e = 0x1.71547652b82fep+0, ln2_high = 0x1.62e42fefa39efp-1, ln2_low = 0x1.abc9e3b39803fp-56;
  static constexpr double magic = 0x1.8p52;
  static constexpr int terms = 10;
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr double c(int i) {
    constexpr double table[terms] = {0x1.000000000000ap-1,  0x1.55555555554f9p-3,  0x1.55555555507f1p-5,  0x1.1111111127e83p-7,
                                     0x1.6c16c1844b01cp-10, 0x1.a01a0129b4612p-13, 0x1.a01999adcb23bp-16, 0x1.71df262c451e1p-19,
                                     0x1.28adce7339679p-22, 0x1.ad7f02ab63935p-26};
    return table[i];
  }
};

/// log2 e and ln 2, rounded to T.
template <class T>
inline constexpr T log2_e = ExpConstants<T>::log2_e;
template <class T>
inline constexpr T ln_2 = ExpConstants<T>::ln2_high;

/// x, but at least `low` and at most `high`; NaN stays NaN.
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V within(V x, typename Lane<V>::Scalar low, typename Lane<V>::Scalar high) {
  if constexpr (Lane<V>::has_scale) return Lane<V>::within(x, splat<V>(low), splat<V>(high));
  const V y = x < low ? splat<V>(low) : x;
  return y > high ? splat<V>(high) : y;
}

/// p * 2^n for p in about [1/2, 2]; `shifted` = magic + n. At most one rounding, into the subnormals.
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V scaled_by_power(V p, V n, V shifted) {
  if constexpr (Lane<V>::has_scale) return Lane<V>::scaled(p, n);
  const V magic = splat<V>(ExpConstants<typename Lane<V>::Scalar>::magic);
  const V half_shifted = fused_of_exact_product(n, splat<V>(typename Lane<V>::Scalar(0.5)), magic);
  const auto whole = bits_of(shifted) - bits_of(magic), half = bits_of(half_shifted) - bits_of(magic);
  return p * exponent_bits_to_value<V>(half) * exponent_bits_to_value<V>(whole - half);
}

/// `count` numbers or vectors that are computed interleaved, to hide the latency of dependent operations.
template <class V, int count>
struct Several {
  V x[count];
};

/// `exponential` with the fma passed in. `high` has no error, since n ln2_high is next to y. n ln2_low ends at 2^-108 and r's
/// last bit is at most 2^-55, so the rounding errors of its sum and product together have 53 bits.
template <class V, int count>
struct Exponentials {
  Several<V, count> x;
  template <class Fma>
  ATTOSCOPE_HOST_DEVICE_INLINE Several<V, count> operator()(Fma& fma) const {
    using T = typename Lane<V>::Scalar;
    using K = ExpConstants<T>;
    V y[count], shifted[count], n[count], high[count], r[count], q[count], p[count];
    for (int i = 0; i < count; ++i) y[i] = within(x.x[i], K::lowest, K::highest);
    for (int i = 0; i < count; ++i) shifted[i] = fma(y[i], splat<V>(K::log2_e), splat<V>(K::magic));
    for (int i = 0; i < count; ++i) n[i] = shifted[i] - K::magic;
    for (int i = 0; i < count; ++i) high[i] = fma.beyond_doubt(n[i], splat<V>(-K::ln2_high), y[i]);
    for (int i = 0; i < count; ++i) r[i] = fma.beyond_doubt(n[i], splat<V>(-K::ln2_low), high[i]);
    for (int i = 0; i < count; ++i) q[i] = splat<V>(K::c(K::terms - 1));
    for (int k = K::terms - 2; k >= 0; --k)
      for (int i = 0; i < count; ++i) q[i] = fma(q[i], r[i], splat<V>(K::c(k)));
    for (int i = 0; i < count; ++i) {
      if constexpr (sizeof(T) == sizeof(double)) {  // adds back the rounding error of r
        p[i] =
            (fma.in_any_order(r[i] * r[i], q[i], fma.beyond_doubt(n[i], splat<V>(-K::ln2_low), high[i] - r[i])) + r[i]) + T{1};
      } else {
        p[i] = fma.in_any_order(r[i] * r[i], q[i], r[i]) + T{1};
      }
    }
    Several<V, count> e;
    for (int i = 0; i < count; ++i) e.x[i] = scaled_by_power(p[i], n[i], shifted[i]);
    return e;
  }
};

/// e^x, at most 1.03 ulp from the true value in float and 1 ulp in double, subnormal results included; NaN gives NaN.
/// Cody-Waite reduction x = n ln 2 + r, then 1 + (r + r^2 q(r)), then two scalings by powers of two; only the second can round.
template <class V, int count>
ATTOSCOPE_HOST_DEVICE_INLINE Several<V, count> exponential(const Several<V, count>& x) {
  return with_fma<V>(Exponentials<V, count>{x});
}
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V exponential(V x) {
  return exponential(Several<V, 1>{{x}}).x[0];
}

template <class T>
struct Exp2Constants;
template <>
struct Exp2Constants<float> {
  static constexpr float lowest = -151.0f, highest = 129.0f, magic = ExpConstants<float>::magic;
  // (2^r - 1) / r on |r| <= 1/2, minimax
  static constexpr int terms = 6;
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr float c(int i) {
    constexpr float table[terms] = {0x1.62e43p-1f, 0x1.ebfbdcp-3f, 0x1.c6aee6p-5f,
                                    0x1.3b2d5p-7f, 0x1.5f3f3p-10f, 0x1.41fb2cp-13f};
    return table[i];
  }
};
template <>
struct Exp2Constants<double> {
  static constexpr double lowest = -1076.0, highest = 1025.0, magic = ExpConstants<double>::magic;
  static constexpr int terms = 11;
  ATTOSCOPE_HOST_DEVICE_INLINE static constexpr double c(int i) {
    constexpr double table[terms] = {0x1.62e42fefa39efp-1,  0x1.ebfbdff82c5a5p-3,  0x1.c6b08d7049fe6p-5,  0x1.3b2ab6fba007cp-7,
                                     0x1.5d87fe78cdbdcp-10, 0x1.4309130efb1c8p-13, 0x1.ffcbfba86f5cap-17, 0x1.62bfc740e058ep-20,
                                     0x1.b5267e317beebp-24, 0x1.e61bf8e63572ap-28, 0x1.e79b0b6f725e0p-32};
    return table[i];
  }
};

/// 1 + x c[0] + x^2 c[1] + ..., with terms of falling magnitude.
template <int terms, class V, class Coefficient>
struct FallingPolynomial {
  V x;
  Coefficient c;
  template <class Fma>
  ATTOSCOPE_HOST_DEVICE_INLINE V operator()(Fma& fma) const {
    V q = splat<V>(c(terms - 1));
    ATTOSCOPE_UNROLL(unroll)
    for (int i = terms - 2; i >= 0; --i) q = fma(q, x, splat<V>(c(i)));
    return fma(q, x, splat<V>(1));
  }
};

/// 2^x, at most 1.03 ulp from the true value; NaN gives NaN.
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V exponential2(V x) {
  using K = Exp2Constants<typename Lane<V>::Scalar>;
  const V y = within(x, K::lowest, K::highest);
  const V shifted = y + K::magic, n = shifted - K::magic;
  const auto c = [](int i) { return K::c(i); };
  return scaled_by_power(with_fma<V>(FallingPolynomial<K::terms, V, decltype(c)>{y - n, c}), n, shifted);
}

/// Coefficient of f^(i+1) in the minimax polynomial of 2^f on [0, 1): relative error, p(0) = 1. Worst errors of degrees 1 to 5:
/// 3.9e-2, 2.1e-3, 8.8e-5, 2.9e-6, 1.6e-7. Degree 3 has FlashAttention-4's coefficients.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr float exp2_coefficient(int degree, int i) {
  constexpr float table[5][5] = {
      {0x1.d8dc72p-1f, 0, 0, 0, 0},
      {0x1.54f8d4p-1f, 0x1.51d9cep-2f, 0, 0, 0},
      {0.695146143436431884765625f, 0.227564394474029541015625f, 0.077119089663028717041015625f, 0, 0},
      {0x1.62d6c6p-1f, 0x1.ee245p-3f, 0x1.abf86ap-5f, 0x1.b7f73p-7f, 0},
      {0x1.62e4bap-1f, 0x1.ebdb56p-3f, 0x1.c91ce6p-5f, 0x1.277854p-7f, 0x1.e974fcp-10f}};
  return table[degree - 1][i];
}

/// 2^x: the polynomial of this degree on the fraction of x, the whole part added to the exponent (as in FlashAttention-4).
template <int degree, class V>
ATTOSCOPE_HOST_DEVICE_INLINE V exponential2_minimax(V x) {
  using T = typename Lane<V>::Scalar;
  using K = Exp2Constants<T>;
  const V y = within(x, K::lowest, K::highest);
  const V nearest = (y + K::magic) - K::magic;
  const V n = nearest > y ? nearest - T(1) : nearest, f = y - n;
  const auto c = [](int i) { return T(exp2_coefficient(degree, i)); };
  return scaled_by_power(with_fma<V>(FallingPolynomial<degree, V, decltype(c)>{f, c}), n, n + K::magic);
}

/// `exponential2_minimax` for a `degree` 1..5 chosen at run time.
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V exponential2_polynomial(V x, int degree) {
  switch (degree) {
    case 1:
      return exponential2_minimax<1>(x);
    case 2:
      return exponential2_minimax<2>(x);
    case 3:
      return exponential2_minimax<3>(x);
    case 4:
      return exponential2_minimax<4>(x);
    default:
      return exponential2_minimax<5>(x);
  }
}

/// `logarithm_of_normal` of x / 2^lifted, with the fma passed in.
template <class V, int count>
struct Logarithms {
  Several<V, count> x, lifted{};
  template <class Fma>
  ATTOSCOPE_HOST_DEVICE_INLINE Several<V, count> operator()(Fma& fma) const {
    using T = typename Lane<V>::Scalar;
    using K = ExpConstants<T>;
    constexpr int mantissa_bits = Layout<T>::mantissa_bits, terms = sizeof(T) == 4 ? 5 : 12;
    constexpr double c[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                            2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23, 2.0 / 25};
    V k[count], f[count], f2[count], s[count];
    for (int i = 0; i < count; ++i) {
      // the exponent of x / sqrt(1/2), rounded down
      const auto exponent = (bits_of(x.x[i]) - bits_of(splat<V>(T(0x1.6a09e667f3bcdp-1)))) >> mantissa_bits;
      const V m = from_bits<V>(bits_of(x.x[i]) - (exponent << mantissa_bits));
      k[i] = (from_bits<V>(bits_of(splat<V>(K::magic)) + exponent) - K::magic) - lifted.x[i];
      f[i] = (m - T(1)) / (m + T(1));
      f2[i] = f[i] * f[i];
      s[i] = splat<V>(T(c[terms - 1]));
    }
    for (int j = terms - 2; j >= 0; --j)
      for (int i = 0; i < count; ++i) s[i] = fma(s[i], f2[i], splat<V>(T(c[j])));
    Several<V, count> y;
    for (int i = 0; i < count; ++i) {
      const V tail = fma.in_any_order(f[i] * f2[i], s[i], k[i] * K::ln2_low);
      y.x[i] = fma.in_any_order(k[i], splat<V>(K::ln2_high), fused_of_exact_product(f[i], splat<V>(2), tail));
    }
    return y;
  }
};

/// ln x to 2 ulp, for positive normal x: x = 2^k m, m in [sqrt(1/2), sqrt(2)), ln m = 2 atanh((m-1)/(m+1)).
template <class V, int count>
ATTOSCOPE_HOST_DEVICE_INLINE Several<V, count> logarithm_of_normal(const Several<V, count>& x) {
  return with_fma<V>(Logarithms<V, count>{x});
}
/// ln x for every x: -infinity for 0, NaN below 0.
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V logarithm(V x) {
  using T = typename Lane<V>::Scalar;
  constexpr bool is_float = sizeof(T) == 4;
  constexpr T smallest_normal = is_float ? T(0x1p-126) : T(0x1p-1022), lift = is_float ? T(0x1p64) : T(0x1p128);
  const V normal = x > T(0) ? (x < smallest_normal ? x * lift : x) : splat<V>(1);  // 1 if x has no logarithm
  const V lifted = x < smallest_normal ? splat<V>(is_float ? T(64) : T(128)) : V{};
  const V result = with_fma<V>(Logarithms<V, 1>{{{normal}}, {{lifted}}}).x[0];
  const V infinity = splat<V>(std::numeric_limits<T>::infinity()), nan = splat<V>(std::numeric_limits<T>::quiet_NaN());
  const V edge = x == T(0) ? -infinity : (x > T(0) ? infinity : nan);
  return x > T(0) ? (x < infinity ? result : edge) : edge;
}

/// cap * tanh(x / cap), computed from exp: (1 - t) / (1 + t) with t = exp(-2 |x / cap|).
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V soft_capped(V x, typename Lane<V>::Scalar cap) {
  using T = typename Lane<V>::Scalar;
  const V y = x / cap, magnitude = y < T(0) ? -y : y;
  const V t = exponential(magnitude * T(-2)), capped = (T(1) - t) / (T(1) + t) * cap;
  return y < T(0) ? -capped : capped;
}

template <class V>
struct SinCos {
  V sin, cos;
};

/// `sincos_turns` with the fma passed in.
template <class V, int count>
struct SinCosOfTurns {
  Several<V, count> u;
  template <class Fma>
  ATTOSCOPE_HOST_DEVICE_INLINE Several<SinCos<V>, count> operator()(Fma& fma) const {
    constexpr double s[] = {-1.0 / 6,        1.0 / 120,          -1.0 / 5040,           1.0 / 362880,
                            -1.0 / 39916800, 1.0 / 6227020800.0, -1.0 / 1307674368000.0};
    constexpr double c[] = {-1.0 / 2,       1.0 / 24,          -1.0 / 720,           1.0 / 40320,
                            -1.0 / 3628800, 1.0 / 479001600.0, -1.0 / 87178291200.0, 1.0 / 20922789888000.0};
    V quarter[count], x[count], x2[count], ps[count], pc[count];
    for (int i = 0; i < count; ++i) {
      const V shifted = u.x[i] * 4.0 + 0x1.8p52;
      quarter[i] = shifted - 0x1.8p52;
      x[i] = (u.x[i] * 4.0 - quarter[i]) * 0x1.921fb54442d18p+0;
      x2[i] = x[i] * x[i];
      ps[i] = splat<V>(s[6]);
      pc[i] = splat<V>(c[7]);
    }
    for (int k = 5; k >= 0; --k)
      for (int i = 0; i < count; ++i) ps[i] = fma(ps[i], x2[i], splat<V>(s[k]));
    for (int k = 6; k >= 0; --k)
      for (int i = 0; i < count; ++i) pc[i] = fma(pc[i], x2[i], splat<V>(c[k]));
    Several<SinCos<V>, count> y;
    for (int i = 0; i < count; ++i) {
      const V sine = fma(x[i] * x2[i], ps[i], x[i]), cosine = fma(x2[i], pc[i], splat<V>(1.0));
      y.x[i] = turned(sine, cosine, quarter[i]);
    }
    return y;
  }

 private:
  /// sin and cos, advanced by 0..4 quarters of a turn: sin changes sign in 2 and 3, cos in 1 and 2.
  ATTOSCOPE_HOST_DEVICE_INLINE static SinCos<V> turned(V sine, V cosine, V quarter) {
    const V odd = quarter - ((quarter * 0.5 + 0x1.8p52) - 0x1.8p52) * 2.0;  // 0, or +-1 in odd quarters
    const V a = odd != 0.0 ? cosine : sine, b = odd != 0.0 ? sine : cosine;
    const V sin_sign = quarter == 2.0 ? splat<V>(-1.0) : (quarter == 3.0 ? splat<V>(-1.0) : splat<V>(1.0));
    const V cos_sign = quarter == 1.0 ? splat<V>(-1.0) : (quarter == 2.0 ? splat<V>(-1.0) : splat<V>(1.0));
    return {a * sin_sign, b * cos_sign};
  }
};

/// sin and cos of 2 pi u, u in [0, 1), to about 1 ulp of 1.
template <class V, int count>
ATTOSCOPE_HOST_DEVICE_INLINE Several<SinCos<V>, count> sincos_turns(const Several<V, count>& u) {
  return with_fma<V>(SinCosOfTurns<V, count>{u});
}
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE SinCos<V> sincos_turns(V u) {
  return sincos_turns(Several<V, 1>{{u}}).x[0];
}

}  // namespace attoscope
