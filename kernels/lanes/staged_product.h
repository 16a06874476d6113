/// The product of a warp: the lanes copy the part of A that all of them need to shared memory, then each multiplies for its own
/// rows. Included by micro_kernel.h. All lanes of the warp make the same calls with the same sizes.
#pragma once

#include "kernels/lanes/micro_kernel.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Elements from one row of staged operands to the next: a multiple of 128 bits such that eight consecutive rows lie in
/// different banks.
template <class T>
inline constexpr int staged_row = column_group + 16 / static_cast<int>(sizeof(T));

/// stage[k][i] = A(m0 + i, k0 + k), 0 below the last row of A. Adjacent lanes read adjacent elements.
template <class T>
ATTOSCOPE_HOST_DEVICE void stage_operand(const Product<T>& p, int m0, int k0, int depth, T* stage) {
  const int count = column_group * ((depth + 7) / 8 * 8), rows = p.m - m0;
  const T* a = p.a + m0 * p.m_stride + k0 * p.k_stride;
  p.group.sync();  // all lanes have read the previous contents
  for (int e = p.group.lane(); e < count; e += p.group.width()) {
    const bool k_first = p.k_stride == 1;
    const int i = k_first ? e / 8 % column_group : e % column_group;
    const int k = k_first ? e / (8 * column_group) * 8 + e % 8 : e / column_group;
    if (k < depth) stage[k * staged_row<T> + i] = i < rows ? a[i * p.m_stride + k * p.k_stride] : T{0};
  }
  p.group.sync();
}

/// Rows m0 .. m0 + column_group - 1 of C.
template <class T, bool masked, class Rounder>
ATTOSCOPE_HOST_DEVICE void product_rows(const Product<T>& p, int m0, const Rounder& rounder) {
  constexpr int M = column_group, vectors = Lanes<T>::vectors;
  [[maybe_unused]] constexpr bool is_general = std::is_same_v<Rounder, GeneralRounder<T>>,
                                  is_long = std::is_same_v<Rounder, MagicRounder<T>>;
  const int rows = p.m - m0 < M ? p.m - m0 : M;
  const LaneArray<T> c = p.c + static_cast<std::ptrdiff_t>(m0) * vectors;
  LaneArray<const T> b = p.b;
  T* const stage = static_cast<T*>(p.group.stage());
  T sum[M][vectors];
  for (int i = 0; i < M; ++i)
    for (int r = 0; r < vectors; ++r) sum[i][r] = p.resume && i < rows ? c[i * vectors + r] : T{0};
  for (int k0 = 0; k0 < p.depth; k0 += staged_depth) {
    const int depth = p.depth - k0 < staged_depth ? p.depth - k0 : staged_depth;
    stage_operand(p, m0, k0, depth, stage);
    ATTOSCOPE_UNROLL(unroll is_general || is_long ? 1 : 4)
    for (int k = 0; k < depth; ++k, b += vectors) {
      ATTOSCOPE_UNROLL(unroll is_general ? 1 : M)
      for (int i = 0; i < M; ++i) {
        const T x = stage[k * staged_row<T> + i];
        ATTOSCOPE_UNROLL(unroll)
        for (int r = 0; r < vectors; ++r) {
          const T next = rounder(fused(x, b[r], sum[i][r]), Where{r, p.first_m + m0 + i, p.first_k + k0 + k});
          if constexpr (masked) {
            sum[i][r] = taking_part(p, k0 + k, r, next, sum[i][r]);
          } else {
            sum[i][r] = next;
          }
        }
      }
    }
  }
  for (int i = 0; i < M; ++i)
    for (int r = 0; r < vectors; ++r)
      if (i < rows) c[i * vectors + r] = sum[i][r];
}

template <class T, bool masked, class Rounder>
ATTOSCOPE_HOST_DEVICE_NOINLINE void product_with(const Product<T>& p, const Rounder& rounder) {
  for (int m = 0; m < p.m; m += column_group) product_rows<T, masked>(p, m, rounder);
}

/// The product, rounded after every fma by `plan`; `in_domain` says, in all lanes alike, that ShortRounder may be used.
template <class T, bool masked = false>
ATTOSCOPE_HOST_DEVICE void product(const Product<T>& p, const RounderPlan<T>& plan, bool in_domain) {
  if constexpr (masked) {  // at the mask's edges only, so the general functor is fast enough
    product_with<T, true>(p, GeneralRounder<T>(plan, p.step, p.random));
  } else if (!plan.rounds()) {
    product_with<T, false>(p, NoRounder{});
  } else if (plan.can_be_short && in_domain) {
    product_with<T, false>(p, ShortRounder<T>{plan});
  } else if (plan.kind == RounderKind::half || plan.kind == RounderKind::magic) {
    product_with<T, false>(p, MagicRounder<T>{plan});
  } else {
    product_with<T, false>(p, GeneralRounder<T>(plan, p.step, p.random));
  }
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
