/// Sorting of numbers in ascending order, for Wasserstein distances.
#pragma once

#include <span>
#include <vector>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/stop_sign.h"

namespace attoscope {

/// Bits whose unsigned order is the order of the numbers.
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE typename Layout<T>::Bits key_of(T x) {
  using L = Layout<T>;
  const auto u = bit_as<typename L::Bits>(x);
  return (u & L::sign) != 0 ? ~u : u | L::sign;
}
/// The number with this key.
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE T value_of(typename Layout<T>::Bits key) {
  using L = Layout<T>;
  return bit_as<T>((key & L::sign) != 0 ? key ^ L::sign : ~key);
}

/// x sorted ascending (no NaN in x).
std::vector<double> sorted_values(std::span<const double> x, const StopSign& stop = {});
std::vector<float> sorted_values(std::span<const float> x, const StopSign& stop = {});

}  // namespace attoscope
