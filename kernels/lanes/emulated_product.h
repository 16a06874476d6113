/// The product where fma is emulated and the ranges of its factors are known: most need no emulation. Included by
/// vector_product.h.
#pragma once

#include "kernels/lanes/micro_kernel.h"
#include "kernels/lanes/work_cursor.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// One term by LikelyFma.
template <class V>
struct LikelyTerm {
  const V* b;
  mutable LikelyFma<V> fma{};
  V operator()(V x, int i, V sum) const { return fma.in_any_order(x, b[i], sum); }
};

/// B = high + low, so that A times each is a double; every sum of A * low and the rounding error of adding A * high is one too.
struct SplitTerm {
  const DoubleV *high, *low;
  DoubleV operator()(DoubleV x, int i, DoubleV c) const {
    const DoubleV product = x * high[i], sum = c + product, z = sum - c;
    return sum + ((c - (sum - z)) + ((product - z) + x * low[i]));
  }
};

/// True if SplitTerm is right. All numbers are multiples of `unit`: those of B of 2^-53 times the smallest, and so on. The two
/// rounding errors of adding numbers below `top` are below 2^-51 of it each, A * low is below 2^(a.mantissa_bits - 51) of a
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

/// Sums that are exact in two parts: B = high + low, where `high` are multiples of `grid`, and C = `high_sum` + a rest.
struct PartsOfSums {
  static constexpr int size = key_chunk * Lanes<double>::vectors;
  double grid = 0;
  DoubleV high[size], low[size];

  PartsOfSums(const KeysProduct<double>& p, double spacing) : grid(spacing) {
    const DoubleV magic = splat<DoubleV>(0x1.8p52 * grid);
    for (int i = 0; i < p.depth * Lanes<double>::vectors; ++i) {
      const DoubleV x = as_vectors(p.b)[i];
      high[i] = (x + magic) - magic;
      low[i] = x - high[i];
    }
  }
};

/// Computes rows m0 .. m0 + M - 1 of C; A's factors in these rows are multiples of `unit`.
template <int M, int own>
inline void product_rows_in_parts(const KeysProduct<double>& p, int m0, const PartsOfSums& parts, double unit) {
  constexpr int vectors = Lanes<double>::vectors;
  const DoubleV magic = splat<DoubleV>(0x1.8p52 * parts.grid * unit);
  DoubleV* c = as_vectors(p.c) + static_cast<std::ptrdiff_t>(m0) * vectors;
  const double* a = p.a + m0 * p.m_stride;
  DoubleV sum[M][own], high[M][own], rest[M][own];
  for (int i = 0; i < M; ++i)
    for (int r = 0; r < own; ++r) {
      sum[i][r] = p.resume ? c[i * vectors + r] : DoubleV{};
      high[i][r] = (sum[i][r] + magic) - magic;
      rest[i][r] = sum[i][r] - high[i][r];
    }
  for (int k = 0; k < p.depth; ++k, a += p.k_stride)
    for (int i = 0; i < M; ++i) {
      const DoubleV x = splat<DoubleV>(a[i * p.m_stride]);
      for (int r = 0; r < own; ++r) {
        const DoubleV all_of_rest = rest[i][r] + x * parts.low[k * vectors + r];
        high[i][r] = high[i][r] + x * parts.high[k * vectors + r];
        sum[i][r] = high[i][r] + all_of_rest;
        rest[i][r] = sum[i][r] - high[i][r];
      }
    }
  for (int i = 0; i < M; ++i) {
    for (int r = 0; r < own; ++r) c[i * vectors + r] = sum[i][r];
    const DoubleV last = splat<DoubleV>(sum[i][own - 1][Lanes<double>::width - 1]);
    for (int r = own; r < vectors; ++r) c[i * vectors + r] = last;
  }
}

/// Bounds of the numbers of a product P.V.
struct SizesOfSums {
  double top = 0;        ///< no sum is larger
  double largest_b = 0;  ///< no number of B is larger
  double unit_b = 0;     ///< numbers of B are multiples of a power of two not below this
  double unit_c = 0;     ///< initial numbers of C are multiples of a power of two not below this

  /// The grid that allows the smallest units of A for numbers of A near 1.
  double grid() const {
    int exponent = 0;
    __builtin_frexp(top * unit_b / key_chunk, &exponent);
    return power_of_two<double>((exponent - 1) / 2);
  }
  /// True if all sums are doubles: sums of `high` are multiples of grid * a.unit; the rest is a multiple of the smallest unit,
  /// starts at most at 4 grid * a.unit and grows by grid / 2 times the sum of A, and by rounding errors.
  bool allow_parts(double grid, const ValueSpan& a) const {
    const double of_products = unit_b * a.unit, unit = of_products < unit_c ? of_products : unit_c;
    const double rest = grid * (4 * a.unit + a.sum / 2) + top * (key_chunk * 0x1p-52);
    return a.sum > 0 && largest_b <= 0x1p51 * grid && top + rest <= 0x1p53 * grid * a.unit && rest <= 0x1p53 * unit;
  }
};

/// Combined span of V's columns m .. m + columns - 1 over the product's keys.
inline ValueSpan span_of(const KeysProduct<double>& p, int m, int columns) {
  ValueSpan all;
  for (int i = p.first_k / keys_of_a_span; i <= (p.first_k + p.depth - 1) / keys_of_a_span; ++i) {
    double sum = 0;
    for (int column = m; column < m + columns; ++column) {
      const ValueSpan& one = p.ranges.spans[static_cast<std::ptrdiff_t>(i) * p.m + column];
      all.unit = one.unit < all.unit ? one.unit : all.unit;
      sum = one.sum > sum ? one.sum : sum;
    }
    all.sum += sum;
  }
  return all;
}

template <int own, bool masked>
inline void split_product_with(const KeysProduct<double>& p, const SizesOfSums& sizes, SplitTerm term) {
  constexpr int group = 4 / own;  // more than four vectors of sums exceed the registers
  const PartsOfSums parts(p, sizes.grid());
  int m = 0;
  for (; m + group <= p.m; m += group) {
    const ValueSpan span = span_of(p, m, group);
    if (!masked && sizes.allow_parts(parts.grid, span)) {
      product_rows_in_parts<group, own>(p, m, parts, span.unit);
    } else {
      product_rows<double, group, own, masked>(p, m, NoRounder{}, term);
    }
  }
  for (; m < p.m; ++m) product_rows<double, 1, own, masked>(p, m, NoRounder{}, term);
}

/// The largest sum of B's magnitudes in a lane.
inline double largest_sum(const KeysProduct<double>& p) {
  constexpr int vectors = Lanes<double>::vectors;
  DoubleV sum[vectors]{};
  for (int i = 0; i < p.depth * vectors; ++i) sum[i % vectors] += magnitude(as_vectors(p.b)[i]);
  double largest = 0;
  for (int r = 0; r < vectors; ++r)
    for (int lane = 0; lane < Lanes<double>::width; ++lane) largest = sum[r][lane] > largest ? sum[r][lane] : largest;
  return largest;
}

/// Computes P.V in double for a V of few bits, as golden values need. Returns false if it cannot.
template <bool masked>
bool split_product(const KeysProduct<double>& p, const Magnitudes& a, const Magnitudes& b) {
  constexpr int vectors = Lanes<double>::vectors;
  if (p.depth > key_chunk || p.ranges.spans == nullptr) return false;
  const Magnitudes c = p.resume ? measured(p.c, 1, 0, p.m * Lanes<double>::rows) : Magnitudes{};
  if (!may_be_split(a, b, c, p.depth)) return false;
  DoubleV high[key_chunk * vectors], low[key_chunk * vectors];
  const std::uint64_t low_bits = (std::uint64_t{2} << a.mantissa_bits) - 1;
  for (int i = 0; i < p.depth * vectors; ++i) {
    const DoubleV x = as_vectors(p.b)[i];
    high[i] = DoubleV(UInt64V(x) & ~low_bits);
    low[i] = x - high[i];
  }
  const SizesOfSums sizes{.top = 1.01 * (c.largest + a.largest * largest_sum(p)),
                          .largest_b = b.largest,
                          .unit_b = b.smallest * 0x1p-53,
                          .unit_c = c.largest == 0 ? std::numeric_limits<double>::infinity() : c.smallest * 0x1p-53};
  if (p.group.rows > Lanes<double>::width) {
    split_product_with<vectors, masked>(p, sizes, SplitTerm{high, low});
  } else {
    split_product_with<1, masked>(p, sizes, SplitTerm{high, low});
  }
  return true;
}

/// Computes the product without an emulated fma. Returns false if it cannot.
template <bool masked, class T>
bool emulated_product(const KeysProduct<T>& p, const RounderPlan<T>& plan, bool in_domain) {
  using V = typename Lanes<T>::V;
  if (p.group.rows == 1) return false;
  const Magnitudes a = p.ranges.a != nullptr ? *p.ranges.a : measured(p.a, p.m, p.m_stride, p.depth, p.k_stride),
                   b = p.ranges.b != nullptr ? *p.ranges.b : measured(p.b, 1, 0, p.depth * Lanes<T>::rows);
  const QuickFma quick = quick_fma<T>(a, b);
  if (quick == QuickFma::exact_product) {
    product_of_terms<masked>(p, plan, in_domain, ExactTerm<V>{as_vectors(p.b)});
    return true;
  }
  if constexpr (std::is_same_v<T, double>) return !plan.rounds() && split_product<masked>(p, a, b);
  if (quick == QuickFma::likely) product_of_terms<masked>(p, plan, in_domain, LikelyTerm<V>{as_vectors(p.b)});
  return quick == QuickFma::likely;
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
