/// The product in a CPU's vector registers; keys and values use the same memory type. Included by micro_kernel.h.
#pragma once

#include "kernels/lanes/micro_kernel.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

// --- one query row ----------------------------------------------------------------------------------------------------

// If a block has one query row and nothing is rounded, the lanes are rows of C; otherwise most would be idle. Every element is
// the same chain of fma as in lanes that are query rows.

/// Transposes x: swaps the off-diagonal squares of `size`, then the smaller ones inside them.
template <int size, class V, int width>
ATTOSCOPE_HOST_DEVICE_INLINE void transpose(V (&x)[width]) {
  typename Lane<V>::Int upper{}, lower{};
  for (int j = 0; j < width; ++j) {
    upper[j] = (j & size) != 0 ? width + j - size : j;
    lower[j] = (j & size) != 0 ? width + j : j + size;
  }
  for (int i = 0; i < width; ++i) {
    if ((i & size) != 0) continue;
    const V a = x[i], b = x[i + size];
    x[i] = shuffled(a, b, upper);
    x[i + size] = shuffled(a, b, lower);
  }
  if constexpr (size > 1) transpose<size / 2>(x);
}

/// Stores c in all lanes of row m of C.
template <class T>
inline void store_in_all_lanes(const KeysProduct<T>& p, int m, T c) {
  using L = Lanes<T>;
  for (int r = 0; r < L::vectors; ++r)
    as_vectors(p.c)[static_cast<std::ptrdiff_t>(m) * L::vectors + r] = splat<typename L::V>(c);
}

/// Initial sums of rows m .. m + lanes - 1 of C.
template <class T>
inline typename Lanes<T>::V start_of_rows(const KeysProduct<T>& p, int m) {
  using L = Lanes<T>;
  typename L::V sum{};
  for (int i = 0; p.resume && i < L::width; ++i) sum[i] = p.c[static_cast<std::ptrdiff_t>(m + i) * L::rows];
  return sum;
}

/// sum + a[i * stride] * b[0] + a[i * stride + 1] * b[b_stride] + ... in lane i; `depth` terms, one fma each.
template <class T>
inline typename Lanes<T>::V sums_of_rows(const T* a, std::ptrdiff_t stride, const T* b, std::ptrdiff_t b_stride, int depth,
                                         typename Lanes<T>::V sum) {
  using V = typename Lanes<T>::V;
  constexpr int width = Lanes<T>::width;
  int k = 0;
  for (; k + width <= depth; k += width, a += width) {
    V columns[width];
    for (int i = 0; i < width; ++i) {
      columns[i] = loaded<V>(a + i * stride);
      __builtin_prefetch(a + (i + 2 * width) * stride);  // hardware prefetchers do not predict accesses to so many rows
    }
    transpose<width / 2>(columns);
    for (int i = 0; i < width; ++i, b += b_stride) sum = fused(columns[i], splat<V>(*b), sum);
  }
  for (; k < depth; ++k, ++a, b += b_stride) {
    V column;
    for (int i = 0; i < width; ++i) column[i] = a[i * stride];
    sum = fused(column, splat<V>(*b), sum);
  }
  return sum;
}

/// Computes as many rows of C as a vector has lanes. The elements of a row of A must be adjacent, as in K.
template <class T>
inline void rows_by_transposing(const KeysProduct<T>& p, int m) {
  using L = Lanes<T>;
  const auto sum = sums_of_rows<T>(p.a + m * p.m_stride, p.m_stride, p.b, L::rows, p.depth, start_of_rows(p, m));
  for (int i = 0; i < L::width; ++i) store_in_all_lanes<T>(p, m + i, sum[i]);
}

/// Writes q.k of a row of Q and these keys to out[key].
template <class T>
inline void products_of_row(const Job<T>& job, int row, Keys keys, T* out) {
  using V = typename Lanes<T>::V;
  constexpr int width = Lanes<T>::width;
  const T* const q = job.q + static_cast<std::ptrdiff_t>(row) * job.d;
  int j = keys.first;
  for (; j + width <= keys.end; j += width) {
    const V sum = sums_of_rows<T>(job.k + static_cast<std::ptrdiff_t>(j) * job.d, job.d, q, 1, job.d, V{});
    __builtin_memcpy(out + j, &sum, sizeof sum);
  }
  for (; j < keys.end; ++j) {
    T sum = 0;
    for (int c = 0; c < job.d; ++c) sum = Lane<T>::fused(job.k[static_cast<std::ptrdiff_t>(j) * job.d + c], q[c], sum);
    out[j] = sum;
  }
}

/// Computes `groups` vectors of rows of C. The elements of a column of A must be adjacent, as in V.
template <class T, int groups>
inline void rows_side_by_side(const KeysProduct<T>& p, int m) {
  using L = Lanes<T>;
  using V = typename L::V;
  const T* a = p.a + m;
  V sum[groups];
  for (int g = 0; g < groups; ++g) sum[g] = start_of_rows(p, m + g * L::width);
  for (int k = 0; k < p.depth; ++k, a += p.k_stride) {
    const V b = splat<V>(p.b[static_cast<std::ptrdiff_t>(k) * L::rows]);
    for (int g = 0; g < groups; ++g) sum[g] = fused(loaded<V>(a + g * L::width), b, sum[g]);
  }
  for (int g = 0; g < groups; ++g)
    for (int i = 0; i < L::width; ++i) store_in_all_lanes<T>(p, m + g * L::width + i, sum[g][i]);
}

/// Computes the first rows of C, in whole vectors; returns their number.
template <class T>
inline int whole_vectors_of_one_row(const KeysProduct<T>& p) {
  constexpr int width = Lanes<T>::width, groups = 8;
  int m = 0;
  if (p.k_stride == 1) {
    for (; m + width <= p.m; m += width) rows_by_transposing(p, m);
  } else if (p.m_stride == 1) {
    for (; m + groups * width <= p.m; m += groups * width) rows_side_by_side<T, groups>(p, m);
    for (; m + width <= p.m; m += width) rows_side_by_side<T, 1>(p, m);
  }
  return m;
}

// --- any number of rows --------------------------------------------------------------------------------------------------

/// One term: sum + x * (a vector of B), rounded once.
template <class V>
struct FusedTerm {
  const V* b;
  V operator()(V x, int i, V sum) const { return fused(x, b[i], sum); }
};
/// One term whose product is exact in T.
template <class V>
struct ExactTerm {
  const V* b;
  V operator()(V x, int i, V sum) const { return x * b[i] + sum; }
};

template <class V>
struct LikelyTerm;  // for an emulated fma

/// Computes rows m0 .. m0 + M - 1 of C: the first `own` vectors of each; the other vectors repeat the last lane.
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

/// Computes rows m .. p.m - 1 of C, M at a time.
template <class T, int M, int own, bool masked, class Rounder, class Term>
inline void product_in_groups(const KeysProduct<T>& p, int m, Rounder rounder, Term term) {
  for (; m + M <= p.m; m += M) product_rows<T, M, own, masked>(p, m, rounder, term);
  for (; m < p.m; ++m) product_rows<T, 1, own, masked>(p, m, rounder, term);
}

/// Computes the product. If the block's rows fill only one vector, twice as many rows of C keep the fma units busy. An emulated
/// fma does not need groups of rows.
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

/// The product, rounded by `plan` after every fma. `in_domain` allows ShortRounder.
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
