/// The product of a block that has one query row, where nothing is rounded: the lanes are rows of C, so that none is idle.
/// Every element is the same chain of fma as in lanes that are query rows. Included by vector_product.h.
#pragma once

#include "kernels/lanes/micro_kernel.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// x[i][j] becomes x[j][i]: squares of `size` beside the diagonal change places, then the smaller ones inside them.
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

/// c in all lanes of row m of C.
template <class T>
inline void store_in_all_lanes(const KeysProduct<T>& p, int m, T c) {
  using L = Lanes<T>;
  for (int r = 0; r < L::vectors; ++r)
    as_vectors(p.c)[static_cast<std::ptrdiff_t>(m) * L::vectors + r] = splat<typename L::V>(c);
}

/// Start of the sums of rows m .. m + lanes - 1 of C.
template <class T>
inline typename Lanes<T>::V start_of_rows(const KeysProduct<T>& p, int m) {
  using L = Lanes<T>;
  typename L::V sum{};
  for (int i = 0; p.resume && i < L::width; ++i) sum[i] = p.c[static_cast<std::ptrdiff_t>(m + i) * L::rows];
  return sum;
}

/// sum + a[i * stride + 0] * b[0] + a[i * stride + 1] * b[b_stride] + ... in lane i, `depth` terms, one fma each.
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
      __builtin_prefetch(a + (i + 2 * width) * stride);  // no processor foresees a walk along so many rows
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

/// Computes as many rows of C as a vector has lanes, if A has the elements of a row side by side, as K has.
template <class T>
inline void rows_by_transposing(const KeysProduct<T>& p, int m) {
  using L = Lanes<T>;
  const auto sum = sums_of_rows<T>(p.a + m * p.m_stride, p.m_stride, p.b, L::rows, p.depth, start_of_rows(p, m));
  for (int i = 0; i < L::width; ++i) store_in_all_lanes<T>(p, m + i, sum[i]);
}

/// q.k of a row of Q and these keys, into out[key].
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

/// The same for `groups` vectors of rows, if A has the elements of a column side by side, as V has.
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

/// Computes rows of C from the first on, in whole vectors; returns their number.
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

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
