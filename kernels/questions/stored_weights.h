/// P of one row as the lanes store it with a scale.
#pragma once

#include <algorithm>
#include <span>

#include "kernels/lanes/job.h"

namespace attoscope {

template <class T>
class StoredWeights {
 public:
  /// For a job whose method scales P.
  explicit StoredWeights(const Job<T>& job) : p_(job.P), element_(p_.block != 0 ? p_.element : job[Step::P]) {}

  /// Replaces the numbers that P is rounded from by the weights of a tile, and puts quotients, elements and scales at the
  /// pointers.
  void store(std::span<T> x, T* quotient, T* element, T* scale) const {
    const std::size_t block = p_.block != 0 ? static_cast<std::size_t>(p_.block) : x.size();
    for (std::size_t first = 0; first < x.size(); first += block) {
      const std::size_t count = std::min(block, x.size() - first);
      const Divisor d = p_.block != 0 ? divisor(x.subspan(first, count)) : Divisor{};
      for (std::size_t i = first; i < first + count; ++i) {
        quotient[i] = p_.block != 0 ? x[i] / d.by : x[i];
        element[i] = element_(quotient[i]);
        scale[i] = d.scale;
        x[i] = p_.block != 0 ? element[i] * d.scale : element[i];
      }
    }
  }

 private:
  /// A block's scale, and the divisor of its numbers.
  struct Divisor {
    T scale = 1, by = 1;
  };

  Divisor divisor(std::span<const T> x) const {
    T amax = 0;
    for (const T y : x) amax = y > amax ? y : amax;
    const T whole = unrounded(amax), scale = rounded(whole);
    return {scale, p_.quotient == Quotient::unrounded && whole > 0 ? whole : scale};
  }

  T unrounded(T amax) const {
    const T quotient = amax / p_.element.largest;
    if (p_.rule == ScaleRule::amax) return quotient;
    using Bits = typename Layout<T>::Bits;
    const T whole = p_.rule == ScaleRule::floor ? amax * power_of_two<T>(-p_.largest_exponent) : quotient;
    const T below = bit_as<T>(static_cast<Bits>(bit_as<Bits>(whole) & Layout<T>::infinity));
    return p_.rule == ScaleRule::ceil && below < whole ? below + below : below;
  }

  T rounded(T x) const {
    const bool small = p_.scale == ScaleFormat::e4m3_scale;
    const T least = power_of_two<T>(small ? -9 : -126), scale = small ? MagicRounder<T>(p_.scale_plan)(x) : x;
    return scale > least ? scale : least;
  }

  JobP<T> p_;
  MagicRounder<T> element_;
};

}  // namespace attoscope
