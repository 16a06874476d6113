/// Products of the backward pass with columns in the lanes: C[m][x] = sum over k of A(m, k) B[k][x], k ascending, one chain per
/// element, rounded after every fma. Each row m has its own range of k.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/backward/gradient_rule.h"
#include "kernels/lanes/lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// A is stored per block: adjacent lanes are k (`lanes_are_k`, for dK and dV) or m (for dQ).
template <class X, bool lanes_are_k>
struct ColumnProduct {
  using T = X;
  static constexpr std::ptrdiff_t m_stride = lanes_are_k ? Lanes<X>::rows : 1, k_stride = lanes_are_k ? 1 : Lanes<X>::rows;
  const T* a = nullptr;
  const T* b = nullptr;  ///< rows of `width` numbers
  T* c = nullptr;        ///< rows of `width` numbers
  int width = 0;         ///< a whole number of vectors
  int m = 0;
  const int *first = nullptr, *end = nullptr;  ///< [m]: the row's range of k
  bool resume = false;                         ///< continue from C instead of from 0
  Step step = Step::qk_step;                   ///< for the random bits, with the column, numbers[m] and the number of k
  std::uint64_t seed = 0;
  const T* column_numbers = nullptr;
  const int* numbers = nullptr;
  int first_k = 0;  ///< number of k = 0
};

/// Rows of C summed together, `vectors` vectors of each in registers; an emulated fma gains nothing from groups of rows.
template <class T>
constexpr int product_rows_at_once(int vectors) {
  if (Lane<typename Lanes<T>::V>::emulates_fma) return 1;
  return vector_bytes == 64 && vectors < 4 ? 8 : 4;
}

/// Computes rows m0 .. m0 + M - 1, N vectors of columns from c0 on.
template <int M, int N, class P, class Rounder>
inline void columns_of_rows(const P& p, int m0, int c0, const Rounder& rounder) {
  using T = typename P::T;
  using V = typename Lanes<T>::V;
  T* const c = p.c + static_cast<std::ptrdiff_t>(m0) * p.width + c0;
  const T* const a = p.a + m0 * P::m_stride;
  V sum[M][N];
  int some = p.first[m0], all = some, cut = p.end[m0], last = cut;
  for (int i = 0; i < M; ++i) {
    const int first = p.first[m0 + i], end = p.end[m0 + i];
    some = first < some ? first : some;
    all = first > all ? first : all;
    cut = end < cut ? end : cut;
    last = end > last ? end : last;
    for (int r = 0; r < N; ++r) sum[i][r] = p.resume ? as_vectors(c + i * static_cast<std::ptrdiff_t>(p.width))[r] : V{};
  }
  const auto take = [&](int k, auto takes_part) __attribute__((always_inline)) {
    V b[N];
    for (int r = 0; r < N; ++r) b[r] = as_vectors(p.b + static_cast<std::ptrdiff_t>(k) * p.width + c0)[r];
    ATTOSCOPE_UNROLL(unroll)
    for (int i = 0; i < M; ++i) {
      if (!takes_part(i)) continue;
      const V x = splat<V>(a[i * P::m_stride + k * P::k_stride]);
      for (int r = 0; r < N; ++r)
        sum[i][r] = rounder(fused(x, b[r], sum[i][r]), RoundingKey{r, p.numbers[m0 + i], p.first_k + k});
    }
  };
  const auto takes = [&](int k) { return [&p, m0, k](int i) { return k >= p.first[m0 + i] && k < p.end[m0 + i]; }; };
  if (all >= cut) all = cut = last;
  for (int k = some; k < all; ++k) take(k, takes(k));
  for (int k = all; k < cut; ++k) take(k, [](int) { return true; });
  for (int k = cut; k < last; ++k) take(k, takes(k));
  for (int i = 0; i < M; ++i)
    for (int r = 0; r < N; ++r) as_vectors(c + i * static_cast<std::ptrdiff_t>(p.width))[r] = sum[i][r];
}

template <int N, class P, class Rounder>
inline void columns_of_product(const P& p, int c0, const Rounder& rounder) {
  constexpr int group = product_rows_at_once<typename P::T>(N);
  int m = 0;
  for (; m + group <= p.m; m += group) columns_of_rows<group, N>(p, m, c0, rounder);
  for (; m < p.m; ++m) columns_of_rows<1, N>(p, m, c0, rounder);
}

/// Computes the product, rounded after every fma by `plan`.
template <class P>
inline void column_product(const P& p, const RounderPlan<typename P::T>& plan) {
  using T = typename P::T;
  constexpr int width = Lanes<T>::width, most = vector_bytes == 64 ? 4 : 2;
  for (int c0 = 0, some = 0; c0 < p.width; c0 += some * width) {
    const int left = (p.width - c0) / width;
    some = left >= most ? most : left >= 2 ? 2 : 1;
    with_rounder(plan, p.step, RandomBits<T>{p.seed, p.column_numbers + c0}, [&](auto rounder) {
      some == 1   ? columns_of_product<1>(p, c0, rounder)
      : some == 2 ? columns_of_product<2>(p, c0, rounder)
                  : columns_of_product<most>(p, c0, rounder);
    });
  }
}

/// Stores the first `count` numbers of x as doubles: all if x has fewer, none if `count` is negative.
inline void store_numbers(DoubleV x, int count, double* out) {
  std::memcpy(out, &x, static_cast<std::size_t>(std::clamp(count, 0, Lanes<double>::width)) * sizeof(double));
}
inline void store_numbers(FloatV x, int count, double* out) {
  using Doubles = double __attribute__((vector_size(2 * sizeof(FloatV))));
  const Doubles wide = __builtin_convertvector(x, Doubles);
  std::memcpy(out, &wide, static_cast<std::size_t>(std::clamp(count, 0, Lanes<float>::width)) * sizeof(double));
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
