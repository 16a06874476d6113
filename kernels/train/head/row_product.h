/// Products of attention's backward pass: C[m][x] = A[m][k] * B[k][x] with rows of B and C as in the model's memory, x in the
/// lanes, k ascending, one chain for every element, rounded after every fma. The range of k of a row m may shift with m, as
/// with a causal mask; it is the same in all lanes.
#pragma once

#include "kernels/lanes/lanes.h"
#include "kernels/lanes/micro_kernel.h"
#include "kernels/lanes/tile_steps.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Spread of a row in memory over lanes: the lanes of a group hold adjacent vectors. On a GPU a group is one warp.
#ifdef ATTOSCOPE_SIMT
inline constexpr int group_size = warp_lanes, own_vectors = 2, product_group = 16;
/// Depth and bytes of the shared memory through which the lanes of a warp share operands.
inline constexpr int row_stage_depth = 32, row_stage_bytes = row_stage_depth * (product_group * 8 + 16);
static_assert(row_stage_bytes <= staged_bytes);
#else
inline constexpr int group_size = 1, own_vectors = 2, product_group = row_vectors == 4 ? 8 : 4;
#endif
/// Elements that each lane of a group, and the whole group, hold at once.
template <class T>
inline constexpr int own_width = Lanes<T>::width * own_vectors;
template <class T>
inline constexpr int group_width = own_width<T> * group_size;

/// The place in the row of a lane's x-th element.
ATTOSCOPE_HOST_DEVICE_INLINE int place_of(int x, [[maybe_unused]] int lane) {
  return group_size == 1 ? x : x * group_size + lane;
}

/// The lane's vector r of a row of `count` elements, 0 beyond them.
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE typename Lanes<T>::V loaded_row(const T* row, int r, int count, [[maybe_unused]] int lane) {
#ifdef ATTOSCOPE_SIMT
  const int i = r * warp_lanes + lane;
  return i < count ? row[i] : T{0};
#else
  constexpr int width = Lanes<T>::width;
  if (count >= (r + 1) * width) return loaded<typename Lanes<T>::V>(row + r * width);
  typename Lanes<T>::V v{};
  for (int i = 0; i < count - r * width; ++i) v[i] = row[r * width + i];
  return v;
#endif
}
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE void store_row(T* row, int r, int count, [[maybe_unused]] int lane, typename Lanes<T>::V v) {
#ifdef ATTOSCOPE_SIMT
  const int i = r * warp_lanes + lane;
  if (i < count) row[i] = v;
#else
  constexpr int width = Lanes<T>::width;
  const int here = count - r * width;
  if (here >= width) {
    __builtin_memcpy(row + r * width, &v, sizeof v);
  } else {
    for (int i = 0; i < here; ++i) row[r * width + i] = v[i];
  }
#endif
}

template <class T>
struct RowProduct {
  const T* a = nullptr;
  std::ptrdiff_t m_stride = 0, k_stride = 0;  ///< of A
  const T* b = nullptr;                       ///< a CPU may read up to a group's width beyond its last row
  T* c = nullptr;
  std::ptrdiff_t b_stride = 0, c_stride = 0;  ///< from a row to the next
  int columns = 0;                            ///< x of B and C
  int m = 0;
  int first = 0, end = 0;              ///< row m takes part in steps first + m * first_shift <= k < end + m * end_shift
  int first_shift = 0, end_shift = 0;  ///< 0 or 1, one of them 0
  bool resume = false;                 ///< continue from C instead of from 0
  Step step = Step::qk_step;           ///< for the random bits, which depend on step, column, m and k
  std::uint64_t seed = 0;
  LaneArray<const T> column_numbers{};       ///< the numbers of the lane's columns there
  int first_m = 0, m_sign = 1, first_k = 0;  ///< the numbers of m and k there: first_m + m * m_sign, first_k + k
  int lane = 0;
  LaneGroup group{};

  ATTOSCOPE_HOST_DEVICE_INLINE int first_of(int row) const { return first + row * first_shift; }
  ATTOSCOPE_HOST_DEVICE_INLINE int end_of(int row) const { return end + row * end_shift; }
};

#ifdef ATTOSCOPE_SIMT

/// Elements from one row of staged operands to the next: a multiple of 128 bits such that eight consecutive rows lie in
/// different banks.
template <class T>
inline constexpr int staged_row = product_group + 16 / static_cast<int>(sizeof(T));

/// stage[k][i] = A(m0 + i, k0 + k), 0 below the last row of A. Adjacent lanes read adjacent elements.
template <class T>
ATTOSCOPE_HOST_DEVICE void stage_operand(const RowProduct<T>& p, int m0, int k0, int depth, T* stage) {
  const int count = product_group * ((depth + 7) / 8 * 8), rows = p.m - m0;
  const T* a = p.a + m0 * p.m_stride + k0 * p.k_stride;
  p.group.sync();  // all lanes have read the previous contents
  for (int e = p.group.thread(); e < count; e += p.group.threads()) {
    const bool k_first = p.k_stride == 1;
    const int i = k_first ? e / 8 % product_group : e % product_group;
    const int k = k_first ? e / (8 * product_group) * 8 + e % 8 : e / product_group;
    if (k < depth) stage[k * staged_row<T> + i] = i < rows ? a[i * p.m_stride + k * p.k_stride] : T{0};
  }
  p.group.sync();
}

/// Rows m0 .. m0 + M - 1 of the columns from c0 on. All lanes of a warp make the same calls.
template <int M, int N, class T, class Rounder>
ATTOSCOPE_HOST_DEVICE void row_group(const RowProduct<T>& p, int m0, int c0, const Rounder& rounder) {
  const int rows = p.m - m0 < M ? p.m - m0 : M, count = p.columns - c0;
  T* const stage = reinterpret_cast<T*>(p.group.shared());
  T sum[M][N];
  for (int i = 0; i < M; ++i)
    for (int r = 0; r < N; ++r)
      sum[i][r] = p.resume && i < rows ? loaded_row(p.c + (m0 + i) * p.c_stride + c0, r, count, p.lane) : T{0};
  const int last = p.end_of(m0 + rows - 1);
  for (int k0 = p.first_of(m0); k0 < last; k0 += row_stage_depth) {
    const int depth = last - k0 < row_stage_depth ? last - k0 : row_stage_depth;
    stage_operand(p, m0, k0, depth, stage);
    const int whole = clamp(p.first_of(m0 + rows - 1), k0, k0 + depth), cut = clamp(p.end_of(m0), whole, k0 + depth);
    const auto take = [&](int k, auto takes_part) {
      T b[N];
      for (int r = 0; r < N; ++r) b[r] = loaded_row(p.b + k * p.b_stride + c0, r, count, p.lane);
      ATTOSCOPE_UNROLL(unroll)
      for (int i = 0; i < M; ++i) {
        const T x = stage[(k - k0) * staged_row<T> + i];
        const bool takes = takes_part(i);
        ATTOSCOPE_UNROLL(unroll)
        for (int r = 0; r < N; ++r) {
          const T next = rounder(fused(x, b[r], sum[i][r]), Where{r, p.first_m + (m0 + i) * p.m_sign, p.first_k + k});
          sum[i][r] = takes ? next : sum[i][r];
        }
      }
    };
    const auto some = [&](int from, int to) {
      ATTOSCOPE_UNROLL(unroll 1)
      for (int k = from; k < to; ++k) take(k, [&](int i) { return k >= p.first_of(m0 + i) && k < p.end_of(m0 + i); });
    };
    if constexpr (std::is_same_v<Rounder, NoRounder>) {
      some(k0, whole);
      ATTOSCOPE_UNROLL(unroll 4)
      for (int k = whole; k < cut; ++k) take(k, [](int) { return true; });
      some(cut, k0 + depth);
    } else {
      some(k0, k0 + depth);
    }
  }
  for (int i = 0; i < M; ++i)
    for (int r = 0; r < N; ++r)
      if (i < rows) store_row(p.c + (m0 + i) * p.c_stride + c0, r, count, p.lane, sum[i][r]);
}

template <int N, class T, class Rounder>
ATTOSCOPE_HOST_DEVICE_NOINLINE void row_product_columns(const RowProduct<T>& p, int c0, const Rounder& rounder) {
  for (int m = 0; m < p.m; m += product_group) row_group<product_group, N>(p, m, c0, rounder);
}

#else

/// Rows m0 .. m0 + M - 1 of the columns from c0 on.
template <int M, int N, class T, class Rounder>
inline void row_group(const RowProduct<T>& p, int m0, int c0, const Rounder& rounder) {
  using V = typename Lanes<T>::V;
  const int count = p.columns - c0;
  T* c = p.c + m0 * p.c_stride + c0;
  const T* a = p.a + m0 * p.m_stride;
  V sum[M][N];
  for (int i = 0; i < M; ++i)
    for (int r = 0; r < N; ++r) sum[i][r] = p.resume ? loaded_row(c + i * p.c_stride, r, count, 0) : V{};
  const auto take = [&](int k, auto takes_part) __attribute__((always_inline)) {
    V b[N];
    for (int r = 0; r < N; ++r) b[r] = loaded<V>(p.b + k * p.b_stride + c0 + r * Lanes<T>::width);
    for (int i = 0; i < M; ++i) {
      if (!takes_part(i)) continue;
      const V x = splat<V>(a[i * p.m_stride + k * p.k_stride]);
      for (int r = 0; r < N; ++r)
        sum[i][r] = rounder(fused(x, b[r], sum[i][r]), Where{r, p.first_m + (m0 + i) * p.m_sign, p.first_k + k});
    }
  };
  const int full = p.first_of(m0 + M - 1), cut = p.end_of(m0), last = p.end_of(m0 + M - 1);
  for (int k = p.first_of(m0); k < full; ++k) take(k, [&](int i) { return k >= p.first_of(m0 + i); });
  for (int k = full; k < cut; ++k) take(k, [](int) { return true; });
  for (int k = cut; k < last; ++k) take(k, [&](int i) { return k < p.end_of(m0 + i); });
  for (int i = 0; i < M; ++i)
    for (int r = 0; r < N; ++r) store_row(c + i * p.c_stride, r, count, 0, sum[i][r]);
}

template <int N, class T, class Rounder>
inline void row_product_columns(const RowProduct<T>& p, int c0, const Rounder& rounder) {
  int m = 0;
  for (; m + product_group <= p.m; m += product_group) row_group<product_group, N>(p, m, c0, rounder);
  for (; m < p.m; ++m) row_group<1, N>(p, m, c0, rounder);
}

#endif

/// The product, rounded after every fma by `plan`.
template <class T>
ATTOSCOPE_HOST_DEVICE void row_product(const RowProduct<T>& p, const RounderPlan<T>& plan) {
  for (int c0 = 0; c0 < p.columns; c0 += group_width<T>)
    with_rounder(plan, p.step, RandomBits<T>{p.seed, p.column_numbers + c0 / group_size}, [&](auto rounder) {
      if constexpr (group_size == 1)
        if (p.columns - c0 <= Lanes<T>::width) return row_product_columns<1>(p, c0, rounder);
      row_product_columns<own_vectors>(p, c0, rounder);
    });
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
