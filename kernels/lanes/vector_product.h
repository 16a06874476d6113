/// The product in a CPU's vector registers, where keys and values have the same memory; included by micro_kernel.h.
#pragma once

#include "kernels/lanes/micro_kernel.h"
#include "kernels/lanes/one_row_product.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// One term: x times a vector of B, and the sum, rounded once.
template <class V>
struct FusedTerm {
  const V* b;
  V operator()(V x, int i, V sum) const { return fused(x, b[i], sum); }
};
/// One term of a product that T holds exactly.
template <class V>
struct ExactTerm {
  const V* b;
  V operator()(V x, int i, V sum) const { return x * b[i] + sum; }
};

template <class V>
struct LikelyTerm;  // of an emulated fma

/// Computes rows m0 .. m0 + M - 1 of C: the first `own` vectors of each; the others repeat the last lane.
template <class T, int M, int own, bool masked, class Rounder, class Term>
inline void product_rows(const KeysProduct<T>& p, int m0, Rounder rounder, Term term) {
  using L = Lanes<T>;
  using V = typename L::V;
  V* c = as_vectors(p.c) + static_cast<std::ptrdiff_t>(m0) * L::vectors;
  const T* a = p.a + m0 * p.m_stride;
  V sum[M][own];
  for (int i = 0; i < M; ++i)
    for (int r = 0; r < own; ++r) sum[i][r] = p.resume ? c[i * L::vectors + r] : V{};
  for (int k = 0; k < p.depth; ++k, a += p.k_stride) {
    for (int i = 0; i < M; ++i) {
      const V x = splat<V>(a[i * p.m_stride]);
      for (int r = 0; r < own; ++r) {
        const V next = rounder(term(x, k * L::vectors + r, sum[i][r]), RoundingKey{r, p.first_m + m0 + i, p.first_k + k});
        if constexpr (masked) {
          sum[i][r] = taking_part(p, k, r, next, sum[i][r]);
        } else {
          sum[i][r] = next;
        }
      }
    }
  }
  if constexpr (std::is_same_v<Term, LikelyTerm<V>>)
    if (term.fma.is_in_doubt()) {
      for (int i = 0; i < M; ++i) product_rows<T, 1, own, masked>(p, m0 + i, rounder, FusedTerm<V>{term.b});
      return;
    }
  for (int i = 0; i < M; ++i) {
    for (int r = 0; r < own; ++r) c[i * L::vectors + r] = sum[i][r];
    const V last = splat<V>(sum[i][own - 1][L::width - 1]);
    for (int r = own; r < L::vectors; ++r) c[i * L::vectors + r] = last;
  }
}

/// Rows m .. p.m - 1 of C, M at a time.
template <class T, int M, int own, bool masked, class Rounder, class Term>
inline void product_in_groups(const KeysProduct<T>& p, int m, Rounder rounder, Term term) {
  for (; m + M <= p.m; m += M) product_rows<T, M, own, masked>(p, m, rounder, term);
  for (; m < p.m; ++m) product_rows<T, 1, own, masked>(p, m, rounder, term);
}

/// Computes the product. If the rows of the block fill one vector, twice as many rows of C keep the fma units busy; an emulated
/// fma needs no groups of rows.
template <class T, bool masked, class Rounder, class Term>
inline void product_with(const KeysProduct<T>& p, Rounder rounder, Term term) {
  using V = typename Lanes<T>::V;
  constexpr bool is_fused = std::is_same_v<Term, FusedTerm<V>>;
  constexpr int group = Lane<V>::emulates_fma && is_fused ? 1 : column_group;
  if (p.group.rows > Lanes<T>::width) return product_in_groups<T, group, Lanes<T>::vectors, masked>(p, 0, rounder, term);
  int done = 0;
  if constexpr (!masked && std::is_same_v<Rounder, NoRounder> && is_fused)
    if (p.group.rows == 1) done = whole_vectors_of_one_row(p);
  product_in_groups<T, 2 * group, 1, masked>(p, done, rounder, term);
}

/// The product, rounded after every fma by `plan`; `in_domain` says that ShortRounder may be used.
template <bool masked, class T, class Term>
inline void product_of_terms(const KeysProduct<T>& p, const RounderPlan<T>& plan, bool in_domain, Term term) {
  if (plan.can_be_short && in_domain) {
    product_with<T, masked>(p, ShortRounder<T>{plan}, term);
  } else {
    with_rounder(plan, p.step, p.random, [&](auto rounder) { product_with<T, masked>(p, rounder, term); });
  }
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope

#if !defined(__AVX2__)
#include "kernels/lanes/emulated_product.h"
#endif

namespace attoscope {
namespace ATTOSCOPE_ISA {

template <bool masked, class T>
inline void product(const KeysProduct<T>& p, const RounderPlan<T>& plan, bool in_domain) {
  using V = typename Lanes<T>::V;
#if !defined(__AVX2__)
  if (emulated_product<masked>(p, plan, in_domain)) return;
#endif
  product_of_terms<masked>(p, plan, in_domain, FusedTerm<V>{as_vectors(p.b)});
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
