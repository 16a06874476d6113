/// The product used for both q.k and P.V: C[m][lane] = A[m][k] * B[k][lane], k ascending, one chain per element, rounded by a
/// functor after every fma.
#pragma once

#include "kernels/lanes/job.h"
#include "kernels/lanes/lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Ranges of A and B for an emulated fma; null if unknown. The spans are V's, starting at the first key.
struct FactorRanges {
  const Magnitudes *a = nullptr, *b = nullptr;
  const ValueSpan* spans = nullptr;
};
struct NoRanges {};

/// Operands: A's element (m, k) is at a[m * m_stride + k * k_stride]; B and C are [.][rows of a block], in the memory of their
/// array types.
template <class X, class ArrayB, class ArrayC>
struct Product {
  using T = X;
  const T* a = nullptr;
  std::ptrdiff_t m_stride = 0, k_stride = 0;
  ArrayB b{};
  ArrayC c{};
  int m = 0, depth = 0;
  bool resume = false;  ///< continue from C instead of from 0
  /// For masked products: lane r has only the steps first[r] <= k < end[r].
  LaneArray<const T> first{}, end{};
  Step step = Step::qk_step;
  RandomBits<T> random{};
  int first_m = 0, first_k = 0;  ///< added to m and k in RoundingKey
  LaneGroup group{};
  using Ranges = std::conditional_t<Lane<typename Lanes<X>::V>::emulates_fma, FactorRanges, NoRanges>;
  Ranges ranges{};
};

/// Product types. q.k: A is K, and m counts keys. P.V: A is V, and m counts columns of V.
template <class T>
using KeysProduct = Product<T, LaneArray<const T>, TileArray<T>>;
template <class T>
using ValuesProduct = Product<T, TileArray<const T>, LaneArray<T>>;

/// `next` if the lane takes part in step k, else `hidden`.
template <class P, class V>
ATTOSCOPE_HOST_DEVICE_INLINE V taking_part(const P& p, int k, int r, V next, V hidden) {
  using T = typename P::T;
  const V first = as_vectors(p.first)[r], end = as_vectors(p.end)[r];
  const V step = splat<V>(static_cast<T>(k));
  return step < first ? hidden : (step < end ? next : hidden);
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope

#ifdef ATTOSCOPE_SIMT
#include "kernels/lanes/team_product.h"
#else
#include "kernels/lanes/vector_product.h"
#endif
