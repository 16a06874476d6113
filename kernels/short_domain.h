/// Where ShortRounder may stand in for exact rounding: no value that it meets may leave 0 and [2^-100, 2^100).
#pragma once

#include <cmath>

#include "kernels/job.h"
#include "kernels/lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Smallest nonzero and largest magnitude of `count` vectors.
template <class T>
inline Magnitudes magnitudes(const T* x, int count, int mantissa_bits) {
  using V = typename Lanes<T>::V;
  const V* v = reinterpret_cast<const V*>(x);
  const V zero{}, one = splat<V>(1);
  V low = splat<V>(std::numeric_limits<T>::infinity()), high{}, bad{};
  for (int i = 0; i < count; ++i) {
    const V a = v[i] < zero ? -v[i] : v[i];
    low = a > zero ? (a < low ? a : low) : low;
    high = a > high ? a : high;
    bad = a != a ? one : (a == zero ? (bits_of(v[i]) != 0 ? one : bad) : bad);
  }
  Magnitudes m{std::numeric_limits<double>::infinity(), 0, mantissa_bits};
  for (int lane = 0; lane < Lanes<T>::width; ++lane) {
    m.smallest = low[lane] < m.smallest ? low[lane] : m.smallest;
    m.largest = high[lane] > m.largest ? high[lane] : m.largest;
    if (bad[lane] != 0) m.largest = std::numeric_limits<double>::infinity();
  }
  if (m.largest == 0) m.smallest = 0;
  return m;
}

/// Whether x, and the spacing of its last bits, stay in the domain.
inline bool in_domain(const Magnitudes& x) {
  return x.largest < 0x1p98 && (x.smallest == 0 || x.smallest >= power_of_two<double>(x.mantissa_bits - 98));
}

/// Whether every partial sum of `terms` products of x and y is 0 or in the domain: all are multiples of the product of the
/// smallest spacings.
inline bool products_in_domain(const Magnitudes& x, const Magnitudes& y, int terms) {
  if (!(x.largest * y.largest * terms < 0x1p98)) return false;
  if (x.largest == 0 || y.largest == 0) return true;
  return x.smallest * y.smallest >= power_of_two<double>(x.mantissa_bits + y.mantissa_bits - 97);
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
