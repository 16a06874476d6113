/// The register-blocked product under both q.k and P.V: C[m][lane] = A[m][k] * B[k][lane], k ascending, one chain for every
/// element, rounded after every fma where a functor says so.
#pragma once

#include "kernels/lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// A's element (m, k) is at a[m * m_stride + k * k_stride]; B and C are [.][rows of a block].
template <class T>
struct Product {
  const T* a = nullptr;
  std::ptrdiff_t m_stride = 0, k_stride = 0;
  const T* b = nullptr;
  T* c = nullptr;
  int m = 0, depth = 0;
  bool resume = false;  ///< continue from C instead of from 0
  /// For masked products: lane r takes part in steps first[r] <= k < end[r] only.
  const T *first = nullptr, *end = nullptr;
  Step step = Step::qk_step;
  Dice<T> dice{};
  int first_m = 0, first_k = 0;  ///< what m = 0 and k = 0 are called in Where
};

/// `next` where the lane takes part in step k, else `hidden`.
template <class T>
ATTOSCOPE_HD typename Lanes<T>::V taking_part(const Product<T>& p, int k, int r, typename Lanes<T>::V next, typename Lanes<T>::V hidden) {
  using V = typename Lanes<T>::V;
  const V first = reinterpret_cast<const V*>(p.first)[r], end = reinterpret_cast<const V*>(p.end)[r];
  const V step = splat<V>(static_cast<T>(k));
  return step < first ? hidden : (step < end ? next : hidden);
}

/// Rows m0 .. m0 + M - 1 of C.
template <class T, int M, bool masked, class Rounder>
inline void product_rows(const Product<T>& p, int m0, Rounder rounder) {
  using L = Lanes<T>;
  using V = typename L::V;
  const V* b = reinterpret_cast<const V*>(p.b);
  V* c = reinterpret_cast<V*>(p.c) + static_cast<std::ptrdiff_t>(m0) * L::vectors;
  const T* a = p.a + m0 * p.m_stride;
  V sum[M][L::vectors];
  for (int i = 0; i < M; ++i)
    for (int r = 0; r < L::vectors; ++r) sum[i][r] = p.resume ? c[i * L::vectors + r] : V{};
  for (int k = 0; k < p.depth; ++k, b += L::vectors, a += p.k_stride) {
    for (int i = 0; i < M; ++i) {
      const V x = splat<V>(a[i * p.m_stride]);
      for (int r = 0; r < L::vectors; ++r) {
        const V next = rounder(fused(x, b[r], sum[i][r]), Where{r, p.first_m + m0 + i, p.first_k + k});
        if constexpr (masked) {
          sum[i][r] = taking_part(p, k, r, next, sum[i][r]);
        } else {
          sum[i][r] = next;
        }
      }
    }
  }
  for (int i = 0; i < M; ++i)
    for (int r = 0; r < L::vectors; ++r) c[i * L::vectors + r] = sum[i][r];
}

template <class T, bool masked, class Rounder>
inline void product_with(const Product<T>& p, Rounder rounder) {
  int m = 0;
  for (; m + column_group <= p.m; m += column_group) product_rows<T, column_group, masked>(p, m, rounder);
  for (; m < p.m; ++m) product_rows<T, 1, masked>(p, m, rounder);
}

/// The product, rounded after every fma by `plan`; `in_domain` says that ShortRounder may be used.
template <class T, bool masked = false>
inline void product(const Product<T>& p, const RounderPlan<T>& plan, bool in_domain) {
  if (plan.can_be_short && in_domain) {
    product_with<T, masked>(p, ShortRounder<T>{plan});
  } else {
    with_rounder(plan, p.step, p.dice, [&](auto rounder) { product_with<T, masked>(p, rounder); });
  }
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
