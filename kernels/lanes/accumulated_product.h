/// The product of micro_kernel.h with terms added as a tensor core adds them (kernels/arithmetic/block_sum.h), in float.
///
/// A float holds every product. Products are scaled by a power of two, cut to integers and added exactly. Blocks outside this
/// domain are recomputed number by number: sums that may exceed 2^31, terms below 2^(F - 125), above 2^100 or not finite.
#pragma once

#include "kernels/arithmetic/block_sum.h"
#include "kernels/lanes/micro_kernel.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// A product and the rule for adding its terms. If `p.first` is set, a lane has only the terms first <= k < end, and B is 0
/// elsewhere.
template <class P>
struct BlockProduct {
  const P& p;
  const BlockSum& sum;
  int lead = 0;                                          ///< terms of the first block that precede this product's first term
  LaneArray<const float> changes{};                      ///< per row: 0 keeps C unchanged, else 1; null: every row changes
  LaneArray<std::int16_t> exponents_a{}, exponents_b{};  ///< a CPU's scratch, one number per element of A and of B

  /// Place within its block of term k0, which starts a block (or the product).
  ATTOSCOPE_HOST_DEVICE_INLINE int place(int k0) const { return k0 == 0 ? lead : 0; }
};

namespace blocks {

using L = Lanes<float>;
using V = typename L::V;
using Int = typename Lane<V>::Int;
using UInt = typename Lane<V>::UInt;
inline constexpr int vectors = L::vectors;

/// Largest number of aligned products of two factors whose sum stays below 2^31: each is below 2^(2 + 25).
inline constexpr int safe_terms = 16;
/// Exponents of zero and of non-finite numbers, outside the range of all sums of exponents.
inline constexpr int exponent_of_zero = -5000, exponent_of_wild = 12000;
inline constexpr int bias = 127;  ///< of a float's exponent field; included in sums of exponents

/// Exponent used to align x. X is a number or a vector.
template <class X>
ATTOSCOPE_HOST_DEVICE_INLINE typename Lane<X>::Int aligned_exponent(X x, int least) {
  using I = typename Lane<X>::Int;
  const I field = (bits_of(x) >> 23) & 255, own = field - bias, raised = own < least ? I{} + least : own;
  const I known = field == 255 ? I{} + exponent_of_wild : raised;
  return x == X{} ? I{} + exponent_of_zero : known;
}

#ifdef ATTOSCOPE_SIMT

/// Number of rows of C that are summed together.
inline constexpr int sum_rows = column_group;

/// Exponents of a row of the block, or of one of its vectors.
using Exponents = std::int32_t;
inline constexpr int exponent_vectors = vectors;
ATTOSCOPE_HOST_DEVICE_INLINE Int exponents_of(const Exponents* x, int r) { return x[r]; }

/// The warp's sum_rows rows of A within a slab.
template <class P>
struct Left {
  OwnSlab<P> slab;
  int least;
  ATTOSCOPE_HOST_DEVICE_INLINE float value(int i, int k) const { return slab.value(i, k); }
  ATTOSCOPE_HOST_DEVICE_INLINE std::int32_t exponent(int i, int k) const { return aligned_exponent(value(i, k), least) + bias; }
};
/// B, starting at the block's first element.
template <class P>
struct Right {
  decltype(P::b) b;
  int least;
  ATTOSCOPE_HOST_DEVICE_INLINE V value(int k, int r) const { return b[k * vectors + r]; }
  ATTOSCOPE_HOST_DEVICE_INLINE Exponents exponents(int k, int r) const { return aligned_exponent(value(k, r), least); }
};

#else

inline constexpr int sum_rows = 4;

using Exponents = std::int16_t __attribute__((vector_size(vector_bytes)));
using HalfExponents = std::int16_t __attribute__((vector_size(vector_bytes / 2)));
inline constexpr int exponent_vectors = vectors / 2;
inline Int exponents_of(const Exponents* x, int r) {
  HalfExponents half;
  __builtin_memcpy(&half, reinterpret_cast<const char*>(x) + static_cast<std::size_t>(r) * sizeof half, sizeof half);
  return __builtin_convertvector(half, Int);
}

struct Left {
  const float* a;
  const std::int16_t* exponents_;
  std::ptrdiff_t m_stride, k_stride;
  float value(int i, int k) const { return a[i * m_stride + k * k_stride]; }
  std::int16_t exponent(int i, int k) const { return exponents_[i * m_stride + k * k_stride]; }
};
struct Right {
  const V* b;
  const Exponents* exponents_;
  V value(int k, int r) const { return b[k * vectors + r]; }
  Exponents exponents(int k, int r) const { return exponents_[k * exponent_vectors + r]; }
};

#endif

/// Rounds to nearest in fp16.
ATTOSCOPE_HOST_DEVICE_INLINE V in_fp16(V x) {
  return MagicRounder<float>(RounderPlan<float>{.kind = RounderKind::half,
                                                .format = detail::half(),
                                                .dropped = Layout<float>::mantissa_bits - detail::half().mantissa_bits,
                                                .largest = largest<float>(detail::half()),
                                                .beyond = std::numeric_limits<float>::infinity()})(x);
}

/// Sums of M rows of C.
template <int M>
struct Sums {
  V c[M][vectors];
};

/// The terms of one half of a block (`after_the_halves`), of A and of B.
template <class Left>
struct HalfOfLeft {
  const Left& all;
  const HalfOfPlaces& places;
  ATTOSCOPE_HOST_DEVICE_INLINE auto value(int i, int k) const { return all.value(i, places[k]); }
  ATTOSCOPE_HOST_DEVICE_INLINE auto exponent(int i, int k) const { return all.exponent(i, places[k]); }
};
template <class Right>
struct HalfOfRight {
  const Right& all;
  const HalfOfPlaces& places;
  ATTOSCOPE_HOST_DEVICE_INLINE auto value(int k, int r) const { return all.value(places[k], r); }
  ATTOSCOPE_HOST_DEVICE_INLINE auto exponents(int k, int r) const { return all.exponents(places[k], r); }
};

/// Computes one element of C (row m, one lane of vector r) number by number: adds the terms k0 <= k < k1 to c.
template <class P>
ATTOSCOPE_HOST_DEVICE_NOINLINE inline float slow_sum(const BlockProduct<P>& x, int m, int r, int lane, int k0, int k1,
                                                     float c) {
  const P& p = x.p;
  const int beginning = x.place(k0) - k0;
  if (p.first) {
    const int first = static_cast<int>(lane_of(as_vectors(p.first)[r], lane)),
              end = static_cast<int>(lane_of(as_vectors(p.end)[r], lane));
    k0 = first > k0 ? first : k0;
    k1 = end < k1 ? end : k1;
  }
  const BlockFactors f{.a = p.a + m * p.m_stride + k0 * p.k_stride,
                       .b = first_of(p.b + (std::ptrdiff_t{k0} * vectors + r) * L::width + lane),
                       .a_step = p.k_stride,
                       .b_step = std::ptrdiff_t{vectors} * L::width * lane_stride,
                       .count = k1 > k0 ? k1 - k0 : 0,
                       .place = beginning + k0};
  return x.sum.accumulator == Accumulator::f64 ? next_fp64_sum(f, c) : next_sum(x.sum, f, c);
}

/// Adds one block to the sums of one product. `left` and `right` start at the block's first term.
template <int M, class Left, class Right>
class Block {
 public:
  ATTOSCOPE_HOST_DEVICE_INLINE Block(const BlockSum& sum, const Left& left, const Right& right, int count)
      : sum_(sum), left_(left), right_(right), count_(count), inside_(sum.carry != CarryPlace::after_the_block) {}

  /// Computes the next sums; sets `wild` to nonzero in lanes whose sums are wrong.
  ATTOSCOPE_HOST_DEVICE_INLINE void next(const Sums<M>& before, Sums<M>& after, Int& wild) {
    find_scales(before, wild);
    if (L::width == 1 && any(wild)) return;
    UInt total[M][vectors];  // unsigned: wild lanes may exceed 2^31
    for (int i = 0; i < M; ++i)
      for (int r = 0; r < vectors; ++r) total[i][r] = UInt{};
    if (inside_)
      for (int i = 0; i < M; ++i)
        for (int r = 0; r < vectors; ++r) total[i][r] = bit_as<UInt>(truncated(before.c[i][r] * scale_[i][r]));
    if (count_ <= safe_terms && !may_pass(count_)) {
      add_terms(0, count_, total);
    } else {
      for (int k = 0; k < count_; k += safe_terms) add_part(k, k + safe_terms < count_ ? k + safe_terms : count_, total, wild);
    }
    finish(total, before, after);
  }

 private:
  /// True if the sum of this many terms and c may exceed 2^31.
  ATTOSCOPE_HOST_DEVICE_INLINE bool may_pass(int terms) const {
    return (4.0F * terms + 2) * (1 << sum_.aligned_bits) > 0x1p31F;
  }

  /// Sets scale_ to 2^(F - the largest exponent).
  ATTOSCOPE_HOST_DEVICE_INLINE void find_scales(const Sums<M>& before, Int& wild) {
    Exponents top[M][exponent_vectors];
    for (int i = 0; i < M; ++i)
      for (int r = 0; r < exponent_vectors; ++r) top[i][r] = Exponents{} + static_cast<std::int16_t>(2 * exponent_of_zero);
    for (int k = 0; k < count_; ++k)
      for (int r = 0; r < exponent_vectors; ++r) {
        const Exponents exponents = right_.exponents(k, r);
        ATTOSCOPE_UNROLL(unroll)
        for (int i = 0; i < M; ++i) {
          const Exponents sum = exponents + left_.exponent(i, k);
          top[i][r] = sum > top[i][r] ? sum : top[i][r];
        }
      }
    const int least = sum_.aligned_bits + bias - 125;
    Int outside{};
    for (int i = 0; i < M; ++i)
      for (int r = 0; r < vectors; ++r) {
        const Int with_c = with_carry(exponents_of(top[i], r), before.c[i][r]), known = with_c < least ? Int{} + least : with_c;
        outside = outside | (with_c != known ? Int{} + 1 : Int{}) | (known < bias + 100 ? Int{} : Int{} + 1);
        scale_[i][r] = from_bits<V>((bias + bias + sum_.aligned_bits - known) << 23);
      }
    if (!any(outside)) return;
    for (int i = 0; i < M; ++i)
      for (int r = 0; r < vectors; ++r) wild = wild | wildness(exponents_of(top[i], r), before.c[i][r]);
  }

  /// The largest exponent of the products and c, bias included.
  ATTOSCOPE_HOST_DEVICE_INLINE Int with_carry(Int products, V c) const {
    if (!inside_) return products;
    Int own = (bits_of(c) >> 23) & 255;
    if (sum_.least_c != -126) {  // least_c is fp16's
      const Int raised = own < sum_.least_c + bias ? Int{} + (sum_.least_c + bias) : own;
      own = c == V{} ? Int{} : raised;
    }
    return own > products ? own : products;
  }

  /// 1 in lanes outside the domain, unless all their terms are 0.
  ATTOSCOPE_HOST_DEVICE_INLINE Int wildness(Int products, V c) const {
    const Int top = with_carry(products, c), one = Int{} + 1;
    const Int some = products > exponent_of_zero / 2 ? one : (c == V{} ? Int{} : one);
    const Int low = top < sum_.aligned_bits + bias - 125 ? some : Int{};
    return top < bias + 100 ? low : one;
  }

  /// Adds terms k0 <= k < k1 to the totals.
  ATTOSCOPE_HOST_DEVICE_INLINE void add_terms(int k0, int k1, UInt (&total)[M][vectors]) {
    for (int k = k0; k < k1; ++k)
      for (int r = 0; r < vectors; ++r) {
        const V b = right_.value(k, r);
        ATTOSCOPE_UNROLL(unroll)
        for (int i = 0; i < M; ++i) total[i][r] = total[i][r] + bit_as<UInt>(truncated((left_.value(i, k) * b) * scale_[i][r]));
      }
  }
  /// Adds terms, whose own sum is below 2^31, to a total that may exceed it.
  ATTOSCOPE_HOST_DEVICE_INLINE void add_part(int k0, int k1, UInt (&total)[M][vectors], Int& wild) {
    UInt part[M][vectors];
    for (int i = 0; i < M; ++i)
      for (int r = 0; r < vectors; ++r) part[i][r] = UInt{};
    add_terms(k0, k1, part);
    for (int i = 0; i < M; ++i)
      for (int r = 0; r < vectors; ++r) {
        const UInt sum = total[i][r] + part[i][r];
        const Int passed = bit_as<Int>((total[i][r] ^ sum) & (part[i][r] ^ sum));  // negative: the sum's sign is wrong
        wild = wild | (passed < 0 ? Int{} + 1 : Int{});
        total[i][r] = sum;
      }
  }

  /// Converts the totals, in units of 1/scale, to the block's results.
  ATTOSCOPE_HOST_DEVICE_INLINE void finish(const UInt (&total)[M][vectors], const Sums<M>& before, Sums<M>& after) const {
    const int kept = sum_.rounding == SumRounding::e8m13_towards_zero ? -1024 : -1;
    for (int i = 0; i < M; ++i)
      for (int r = 0; r < vectors; ++r) {
        const V cut = cut_to_float(bit_as<Int>(total[i][r]));
        after.c[i][r] = from_bits<V>(bits_of(cut) & kept) * unit_of(scale_[i][r]);
      }
    if (sum_.rounding == SumRounding::fp16_nearest_even)
      for (int i = 0; i < M; ++i)
        for (int r = 0; r < vectors; ++r) after.c[i][r] = half(bit_as<Int>(total[i][r]), scale_[i][r]);
    if (!inside_)
      for (int i = 0; i < M; ++i)
        for (int r = 0; r < vectors; ++r) after.c[i][r] = before.c[i][r] + after.c[i][r];
  }
  /// 1/scale, for a power of two.
  ATTOSCOPE_HOST_DEVICE_INLINE static V unit_of(V scale) {
    return bit_as<V>(UInt{} + (static_cast<std::uint32_t>(bias + bias) << 23) - bit_as<UInt>(scale));
  }
  /// Rounds to nearest in fp16. Setting the last bit if bits were cut keeps the value on its side of a tie.
  ATTOSCOPE_HOST_DEVICE_INLINE static V half(Int total, V scale) {
    const V cut = cut_to_float(total);
    const Int odd = truncated(cut) == total ? Int{} : Int{} + 1;
    return in_fp16(from_bits<V>(bits_of(cut) | odd) * unit_of(scale)) + V{};  // +0 for -0
  }

  const BlockSum& sum_;
  const Left& left_;
  const Right& right_;
  int count_;
  bool inside_;
  V scale_[M][vectors];
};

/// Rows m0 .. m0 + M - 1 of C, with their sums in registers.
template <int M, class P>
class RowSums {
 public:
  ATTOSCOPE_HOST_DEVICE_INLINE RowSums(const BlockProduct<P>& x, int m0) : x_(x), m0_(m0) {
    const auto c = as_vectors(x.p.c) + static_cast<std::ptrdiff_t>(m0) * vectors;
    for (int i = 0; i < M; ++i)
      for (int r = 0; r < vectors; ++r) sums_.c[i][r] = x.p.resume && m0 + i < x.p.m ? entering(c[i * vectors + r]) : V{};
  }

  /// Adds the block of terms k0 <= k < k1.
  template <class Left, class Right>
  ATTOSCOPE_HOST_DEVICE_INLINE void add(const Left& left, const Right& right, int k0, int k1) {
    Int wild{};
    const Sums<M> before = sums_;
    if (x_.sum.carry == CarryPlace::after_the_halves)
      add_halves(left, right, k0, k1, wild);
    else
      Block<M, Left, Right>(x_.sum, left, right, k1 - k0).next(before, sums_, wild);
    if (!any(wild)) return;
    for (int lane = 0; lane < L::width; ++lane)
      if (lane_of(wild, lane) != 0) add_slowly(before, lane, k0, k1);
  }
  /// `add`, number by number.
  ATTOSCOPE_HOST_DEVICE_INLINE void add_slowly(int k0, int k1) {
    const Sums<M> before = sums_;
    for (int lane = 0; lane < L::width; ++lane) add_slowly(before, lane, k0, k1);
  }

  ATTOSCOPE_HOST_DEVICE_INLINE void store() const {
    const auto c = as_vectors(x_.p.c) + static_cast<std::ptrdiff_t>(m0_) * vectors;
    for (int i = 0; i < M; ++i)
      for (int r = 0; r < vectors; ++r) {
        if (m0_ + i >= x_.p.m) continue;
        const V sum = sums_.c[i][r];
        c[i * vectors + r] = !x_.changes ? sum : (as_vectors(x_.changes)[r] != 0.0F ? sum : c[i * vectors + r]);
      }
  }

 private:
  ATTOSCOPE_HOST_DEVICE_INLINE V entering(V c) const {
    if (x_.sum.rounding != SumRounding::fp16_nearest_even) return c;
    for (int lane = 0; lane < L::width; ++lane) set_lane(c, lane, first_carry(x_.sum, lane_of(c, lane)));
    return c;
  }
  /// Sums one half from 0, the other on top of it, and adds the result to c.
  template <class Left, class Right>
  ATTOSCOPE_HOST_DEVICE_INLINE void add_halves(const Left& left, const Right& right, int k0, int k1, Int& wild) {
    Sums<M> sum{};
    for (int half = 0; half < 2; ++half) {
      const HalfOfPlaces places(x_.place(k0), k1 - k0, half);
      const HalfOfLeft<Left> a{left, places};
      const HalfOfRight<Right> b{right, places};
      const Sums<M> first = sum;
      Block<M, HalfOfLeft<Left>, HalfOfRight<Right>>(x_.sum, a, b, places.count()).next(first, sum, wild);
    }
    for (int i = 0; i < M; ++i)
      for (int r = 0; r < vectors; ++r) {
        const V c = in_fp16(sums_.c[i][r] + sum.c[i][r]) + V{};
        wild = wild | (c == c ? Int{} : Int{} + 1);
        sums_.c[i][r] = c;
      }
  }
  ATTOSCOPE_HOST_DEVICE_NOINLINE void add_slowly(const Sums<M>& before, int lane, int k0, int k1) {
    for (int i = 0; i < M; ++i)
      for (int r = 0; r < vectors; ++r)
        if (m0_ + i < x_.p.m)
          set_lane(sums_.c[i][r], lane, slow_sum(x_, m0_ + i, r, lane, k0, k1, lane_of(before.c[i][r], lane)));
  }

  const BlockProduct<P>& x_;
  int m0_;
  Sums<M> sums_;
};

/// End of the block that begins at term k. f64 has a single block.
template <class P>
ATTOSCOPE_HOST_DEVICE_INLINE int end_of_block(const BlockProduct<P>& x, int k) {
  const bool whole = x.sum.accumulator == Accumulator::f64;
  const int end = whole ? x.p.depth : k + x.sum.block - (k == 0 ? x.lead : 0);
  return end < x.p.depth ? end : x.p.depth;
}
/// Calls block(k0, k1) for the terms of each block in turn.
template <class P, class Each>
ATTOSCOPE_HOST_DEVICE_INLINE void each_block(const BlockProduct<P>& x, Each block) {
  for (int k0 = 0, k1 = 0; k0 < x.p.depth; k0 = k1) {
    k1 = end_of_block(x, k0);
    block(k0, k1);
  }
}

/// Computes rows of C by `slow_sum` only; the warps of a team share them.
template <class P>
ATTOSCOPE_HOST_DEVICE_NOINLINE inline void slow_rows(const BlockProduct<P>& x) {
  x.p.group.sync();  // B is complete
  x.p.group.each_own(x.p.m, [&](int m, int end) {
    for (; m < end; ++m) {
      RowSums<1, P> sums(x, m);
      each_block(x, [&](int k0, int k1) { sums.add_slowly(k0, k1); });
      sums.store();
    }
  });
}

#ifdef ATTOSCOPE_SIMT

/// Computes rows of C, one slab per block.
template <class P>
ATTOSCOPE_HOST_DEVICE_NOINLINE inline void fast_rows(const BlockProduct<P>& x) {
  const P& p = x.p;
  if (x.sum.block > slab_depth<float>) return slow_rows(x);
  for (int m0 = 0; m0 < p.m; m0 += column_group * p.group.warps()) {
    RowSums<sum_rows, P> sums(x, m0 + column_group * p.group.warp());
    const auto edge = [&x](int k) { return end_of_block(x, k); };
    each_slab(p, m0, edge, [&](const OwnSlab<P>& slab) {
      const Right<P> right{p.b + std::ptrdiff_t{slab.k0} * vectors, x.sum.least_b};
      sums.add(Left<P>{slab, x.sum.least_a}, right, slab.k0, slab.k0 + slab.depth);
    });
    sums.store();
  }
}

#else

template <int M, class P>
inline void row_group(const BlockProduct<P>& x, int m0) {
  const P& p = x.p;
  const auto* const exponents_b = reinterpret_cast<const Exponents*>(x.exponents_b);
  RowSums<M, P> sums(x, m0);
  each_block(x, [&](int k0, int k1) {
    const std::ptrdiff_t at = m0 * p.m_stride + k0 * p.k_stride, k = k0;
    sums.add(Left{p.a + at, x.exponents_a + at, p.m_stride, p.k_stride},
             Right{as_vectors(p.b) + k * vectors, exponents_b + k * exponent_vectors}, k0, k1);
  });
  sums.store();
}

template <class P>
inline void find_exponents(const BlockProduct<P>& x) {
  const P& p = x.p;
  for (int i = 0; i < p.m * p.depth; ++i)  // A's elements are contiguous
    x.exponents_a[i] = static_cast<std::int16_t>(aligned_exponent(p.a[i], x.sum.least_a) + bias);
  for (int i = 0; i < p.depth * vectors; ++i) {
    const auto half = __builtin_convertvector(aligned_exponent(as_vectors(p.b)[i], x.sum.least_b), HalfExponents);
    __builtin_memcpy(x.exponents_b + std::ptrdiff_t{i} * L::width, &half, sizeof half);
  }
}

template <class P>
inline void fast_rows(const BlockProduct<P>& x) {
  const P& p = x.p;
  find_exponents(x);
  int m = 0;
  for (; m + sum_rows <= p.m; m += sum_rows) row_group<sum_rows>(x, m);
  for (; m < p.m; ++m) row_group<1>(x, m);
}

#endif

}  // namespace blocks

/// C = A * B (+ C if p.resume), with every element's terms added block by block.
template <class P>
ATTOSCOPE_HOST_DEVICE inline void accumulated_product(const BlockProduct<P>& x) {
  x.sum.accumulator != Accumulator::f64&& x.sum.exact_in_float ? blocks::fast_rows(x) : blocks::slow_rows(x);
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
