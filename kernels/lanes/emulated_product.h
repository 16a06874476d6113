/// The product where fma is emulated and the ranges of its factors are known: most need no emulation. Included by
/// vector_product.h.
#pragma once

#include "kernels/lanes/work_cursor.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// The magnitudes of `count` vectors, and how many mantissa bits they take; infinite where anything is infinite or NaN.
template <class T>
Magnitudes measured(const typename Lanes<T>::V* x, int count) {
  using V = typename Lanes<T>::V;
  using U = typename Lane<V>::UInt;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  V low = splat<V>(infinity), high{}, wild{};
  U any{};
  for (int i = 0; i < count; ++i) {
    const V size = bit_as<V>(bit_as<U>(x[i]) & ~Layout<T>::sign), some = size > T{0} ? size : low;
    any |= bit_as<U>(x[i]);
    low = some < low ? some : low;
    high = size > high ? size : high;
    wild += x[i] - x[i];  // 0, or NaN
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

/// Whether T holds the product of any two such numbers.
template <class T>
bool has_exact_products(const Magnitudes& a, const Magnitudes& b) {
  constexpr double least = std::is_same_v<T, float> ? 0x1p-149 : 0x1p-1021,
                   most = std::is_same_v<T, float> ? 0x1p127 : 0x1p1000;
  if (a.largest == 0 || b.largest == 0) return a.largest + b.largest < most;
  return a.mantissa_bits + b.mantissa_bits + 1 <= Layout<T>::mantissa_bits && a.largest * b.largest < most &&
         a.smallest * b.smallest >= least * power_of_two<double>(a.mantissa_bits + b.mantissa_bits);
}

/// B = high + low, so that A times each is a double; every sum of what an addition of A * high loses and of A * low is one too.
struct SplitTerm {
  const DoubleV *high, *low;
  DoubleV operator()(DoubleV x, int i, DoubleV c) const {
    const DoubleV product = x * high[i], sum = c + product, z = sum - c;
    return sum + ((c - (sum - z)) + ((product - z) + x * low[i]));
  }
};

/// Whether SplitTerm is right. All numbers are multiples of `unit`: those of B of 2^-53 times the smallest, and so on. The two
/// losses of an addition of numbers below `top` are below 2^-51 of it each, A * low is below 2^(a.mantissa_bits - 51) of a
/// product: their sums are doubles if they stay below 2^53 units.
inline bool may_be_split(const Magnitudes& a, const Magnitudes& b, const Magnitudes& c, int terms) {
  if (a.mantissa_bits > 23) return false;
  const double product = a.largest * b.largest, top = 1.01 * (c.largest + (terms + 1) * product);
  if (!(top < 0x1p900) || !(a.largest < 0x1p900) || !(b.largest < 0x1p900)) return false;
  if (product == 0) return true;
  const double of_products = a.smallest * b.smallest * power_of_two<double>(-54 - a.mantissa_bits),
               of_c = c.largest == 0 ? of_products : c.smallest * 0x1p-53, unit = of_c < of_products ? of_c : of_products;
  return unit >= 0x1p-900 && top * 0x1p-50 + product * power_of_two<double>(a.mantissa_bits - 51) <= 0x1p53 * unit;
}

/// P.V in double with V of few bits, as golden values have it. Returns whether it did it.
template <bool masked>
bool split_product(const KeysProduct<double>& p, const Magnitudes& a, const Magnitudes& b) {
  constexpr int vectors = Lanes<double>::vectors;
  if (p.depth > key_chunk) return false;
  const Magnitudes c = p.resume ? measured<double>(as_vectors(p.c), p.m * vectors) : Magnitudes{};
  if (!may_be_split(a, b, c, p.depth)) return false;
  DoubleV high[key_chunk * vectors], low[key_chunk * vectors];
  const std::uint64_t low_bits = (std::uint64_t{2} << a.mantissa_bits) - 1;
  for (int i = 0; i < p.depth * vectors; ++i) {
    const DoubleV x = as_vectors(p.b)[i];
    high[i] = DoubleV(UInt64V(x) & ~low_bits);
    low[i] = x - high[i];
  }
  product_with<double, masked>(p, NoRounder{}, SplitTerm{high, low});
  return true;
}

/// The product without an emulated fma. Returns whether it did it.
template <bool masked, class T>
bool emulated_product(const KeysProduct<T>& p, const RounderPlan<T>& plan, bool in_domain) {
  using V = typename Lanes<T>::V;
  if (p.ranges.a == nullptr) return false;
  const Magnitudes b = p.ranges.b != nullptr ? *p.ranges.b : measured<T>(as_vectors(p.b), p.depth * Lanes<T>::vectors);
  if (has_exact_products<T>(*p.ranges.a, b)) {
    product_of_terms<masked>(p, plan, in_domain, ExactTerm<V>{as_vectors(p.b)});
    return true;
  }
  if constexpr (std::is_same_v<T, double>) return !plan.rounds() && split_product<masked>(p, *p.ranges.a, b);
  return false;
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
