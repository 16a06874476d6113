/// The product in a CPU's vector registers; included by micro_kernel.h.
#pragma once

#include "kernels/lanes/micro_kernel.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Rows m0 .. m0 + M - 1 of C.
template <class T, int M, bool masked, class Rounder>
inline void product_rows(const Product<T>& p, int m0, Rounder rounder) {
  using L = Lanes<T>;
  using V = typename L::V;
  const V* b = as_vectors(p.b);
  V* c = as_vectors(p.c) + static_cast<std::ptrdiff_t>(m0) * L::vectors;
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
    with_rounder(plan, p.step, p.random, [&](auto rounder) { product_with<T, masked>(p, rounder); });
  }
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
