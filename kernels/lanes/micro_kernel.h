/// The product used for both q.k and P.V: C[m][lane] = A[m][k] * B[k][lane], k ascending, one chain for every element, rounded
/// after every fma by a functor.
#pragma once

#include "kernels/lanes/lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// A's element (m, k) is at a[m * m_stride + k * k_stride]; B and C are [.][rows of a block].
template <class T>
struct Product {
  const T* a = nullptr;
  std::ptrdiff_t m_stride = 0, k_stride = 0;
  LaneArray<const T> b{};
  LaneArray<T> c{};
  int m = 0, depth = 0;
  bool resume = false;  ///< continue from C instead of from 0
  /// For masked products: lane r takes part in steps first[r] <= k < end[r] only.
  LaneArray<const T> first{}, end{};
  Step step = Step::qk_step;
  RandomBits<T> random{};
  int first_m = 0, first_k = 0;  ///< added to m and k in Where
  LaneGroup group{};
};

/// `next` where the lane takes part in step k, else `hidden`.
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE typename Lanes<T>::V taking_part(const Product<T>& p, int k, int r, typename Lanes<T>::V next,
                                                              typename Lanes<T>::V hidden) {
  using V = typename Lanes<T>::V;
  const V first = as_vectors(p.first)[r], end = as_vectors(p.end)[r];
  const V step = splat<V>(static_cast<T>(k));
  return step < first ? hidden : (step < end ? next : hidden);
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope

#ifdef ATTOSCOPE_SIMT
#include "kernels/lanes/staged_product.h"
#else
#include "kernels/lanes/vector_product.h"
#endif
