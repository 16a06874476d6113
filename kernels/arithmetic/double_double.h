/// Double-double arithmetic: an unevaluated sum high + low, about 32 digits. V is double or a vector of doubles.
/// Sums and products after T. J. Dekker, Numer. Math. 18 (1971), and Hida, Li, Bailey, ARITH-15 (2001).
#pragma once

#include "kernels/arithmetic/exponential.h"

namespace attoscope {

template <class V>
struct DD {
  V high{}, low{};
};

/// high + low = a + b exactly, if |a| >= |b| or a = 0.
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE DD<V> quick_two_sum(V a, V b) {
  const V s = a + b;
  return {s, b - (s - a)};
}
/// high + low = a + b exactly.
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE DD<V> two_sum(V a, V b) {
  const V s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
/// high + low = a * b exactly, unless it underflows.
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE DD<V> two_product(V a, V b) {
  const V p = a * b;
  return {p, fused(a, b, -p)};
}

template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE DD<V> operator+(DD<V> a, DD<V> b) {
  const DD<V> s = two_sum(a.high, b.high), t = two_sum(a.low, b.low);
  const DD<V> u = quick_two_sum(s.high, s.low + t.high);
  return quick_two_sum(u.high, u.low + t.low);
}
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE DD<V> operator-(DD<V> a, DD<V> b) {
  return a + DD<V>{-b.high, -b.low};
}
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE DD<V> operator*(DD<V> a, DD<V> b) {
  const DD<V> p = two_product(a.high, b.high);
  return quick_two_sum(p.high, p.low + fused(a.high, b.low, a.low * b.high));
}
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE DD<V> operator/(DD<V> a, DD<V> b) {
  const V q1 = a.high / b.high;
  const DD<V> r1 = a - b * DD<V>{q1, V{}};
  const V q2 = r1.high / b.high;
  const DD<V> r2 = r1 - b * DD<V>{q2, V{}};
  const DD<V> q = quick_two_sum(q1, q2);
  return q + DD<V>{r2.high / b.high, V{}};
}

/// 1/k! for k = 0 .. 28: its leading part (part 0) or the remainder (part 1).
ATTOSCOPE_HOST_DEVICE_INLINE constexpr double inverse_factorial(int k, int part) {
  constexpr double table[29][2] = {
      {0x1.0000000000000p+0, 0x0.0p+0},
      {0x1.0000000000000p+0, 0x0.0p+0},
      {0x1.0000000000000p-1, 0x0.0p+0},
      {0x1.5555555555555p-3, 0x1.5555555555555p-57},
      {0x1.5555555555555p-5, 0x1.5555555555555p-59},
      {0x1.1111111111111p-7, 0x1.1111111111111p-63},
      {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
      {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},
      {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
      {0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73},
      {0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76},
      {0x1.ae64567f544e4p-26, -0x1.c062e06d1f209p-80},
      {0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83},
      {0x1.6124613a86d09p-33, 0x1.f28e0cc748ebep-87},
      {0x1.93974a8c07c9dp-37, 0x1.05d6f8a2efd1fp-92},
      {0x1.ae7f3e733b81fp-41, 0x1.1d8656b0ee8cbp-97},
      {0x1.ae7f3e733b81fp-45, 0x1.1d8656b0ee8cbp-101},
      {0x1.952c77030ad4ap-49, 0x1.ac981465ddc6cp-103},
      {0x1.6827863b97d97p-53, 0x1.eec01221a8b0bp-107},
      {0x1.2f49b46814157p-57, 0x1.2650f61dbdcb4p-112},
      {0x1.e542ba4020225p-62, 0x1.ea72b4afe3c2fp-120},
      {0x1.71b8ef6dcf572p-66, -0x1.d043ae40c4647p-120},
      {0x1.0ce396db7f853p-70, -0x1.aebcdbd20331cp-124},
      {0x1.761b41316381ap-75, -0x1.3423c7d91404fp-130},
      {0x1.f2cf01972f578p-80, -0x1.9ada5fcc1ab14p-135},
      {0x1.3f3ccdd165fa9p-84, -0x1.58ddadf344487p-139},
      {0x1.88e85fc6a4e5ap-89, -0x1.71c37ebd16540p-143},
      {0x1.d1ab1c2dccea3p-94, 0x1.054d0c78aea14p-149},
      {0x1.0a18a2635085dp-98, 0x1.b9e2e28e1aa54p-153},
  };
  return table[k][part];
}

/// e^x for x <= 700, to about 31 digits; 0 below -700. Reduction by ln 2 in three pieces, then Taylor's series.
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE DD<V> exponential(DD<V> x) {
  const V magic = splat<V>(0x1.8p52);
  const V y = x.high < -700.0 ? splat<V>(-700.0) : x.high;
  const V shifted = fused(y, splat<V>(0x1.71547652b82fep+0), magic), n = shifted - magic;
  DD<V> r = DD<V>{y, x.low} - two_product(n, splat<V>(0x1.62e42fefa39efp-1));
  r = r - two_product(n, splat<V>(0x1.abc9e3b39803fp-56));
  r = r - DD<V>{n * 0x1.7b57a079a1934p-111, V{}};
  DD<V> sum{splat<V>(inverse_factorial(28, 0)), splat<V>(inverse_factorial(28, 1))};
  for (int k = 27; k >= 0; --k) sum = sum * r + DD<V>{splat<V>(inverse_factorial(k, 0)), splat<V>(inverse_factorial(k, 1))};
  const V scale = exponent_bits_to_value<V>(bits_of(shifted) - bits_of(magic));
  return {x.high < -700.0 ? V{} : sum.high * scale, x.high < -700.0 ? V{} : sum.low * scale};
}

}  // namespace attoscope
