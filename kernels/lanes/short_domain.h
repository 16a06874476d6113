/// Conditions under which ShortRounder may replace exact rounding: every value that it rounds must be 0 or in [2^-100, 2^100).
#pragma once

#include "kernels/lanes/job.h"
#include "kernels/lanes/lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Smallest nonzero and largest magnitude of `count` vectors, by the order of their bits.
template <class T, class Array>
ATTOSCOPE_HOST_DEVICE inline Magnitudes magnitudes(Array x, int count, int mantissa_bits) {
  using V = typename Lanes<T>::V;
  using Bits = typename Layout<T>::Bits;
  using U = typename Lane<V>::UInt;
  const auto v = as_vectors(x);
  constexpr Bits sign = Layout<T>::sign;
  // unsigned: for 0, size - 1 wraps to the largest number, so that 0 is never the smallest; only -0 is 0 after its sign is
  // flipped
  U low = U{} + static_cast<Bits>(-1), high{}, flipped = low;
  for (int i = 0; i < count; ++i) {
    const U bits = bit_as<U>(v[i]), size = bits & ~sign, below = size - 1, turned = bits ^ sign;
    low = below < low ? below : low;
    high = size > high ? size : high;
    flipped = turned < flipped ? turned : flipped;
  }
  Bits smallest = static_cast<Bits>(-1), largest_bits = 0, minus_zero = smallest;
  for (int lane = 0; lane < Lanes<T>::width; ++lane) {
    const Bits least = lane_of(low, lane), most = lane_of(high, lane), turned = lane_of(flipped, lane);
    smallest = least < smallest ? least : smallest;
    largest_bits = most > largest_bits ? most : largest_bits;
    minus_zero = turned < minus_zero ? turned : minus_zero;
  }
  if (largest_bits == 0) return {0, minus_zero == 0 ? std::numeric_limits<double>::infinity() : 0.0, mantissa_bits};
  const bool wild = minus_zero == 0 || largest_bits >= Layout<T>::infinity;
  return {static_cast<double>(bit_as<T>(static_cast<Bits>(smallest + 1))),
          wild ? std::numeric_limits<double>::infinity() : static_cast<double>(bit_as<T>(largest_bits)), mantissa_bits};
}

/// True if x, and the spacing of its last bits, stay in the domain.
ATTOSCOPE_HOST_DEVICE inline bool in_domain(const Magnitudes& x) {
  return x.largest < 0x1p98 && (x.smallest == 0 || x.smallest >= power_of_two<double>(x.mantissa_bits - 98));
}

/// True if every partial sum of `terms` products of x and y is 0 or in the domain: all are multiples of the product of the
/// smallest spacings.
ATTOSCOPE_HOST_DEVICE inline bool products_in_domain(const Magnitudes& x, const Magnitudes& y, int terms) {
  if (!(x.largest * y.largest * terms < 0x1p98)) return false;
  if (x.largest == 0 || y.largest == 0) return true;
  return x.smallest * y.smallest >= power_of_two<double>(x.mantissa_bits + y.mantissa_bits - 97);
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
