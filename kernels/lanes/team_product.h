/// The product of a team of warps. Its threads copy the part of A that all of them need to shared memory, one slab while the
/// previous one is multiplied; each warp has its own rows of C. Included by micro_kernel.h. All threads of the team make the
/// same calls with the same sizes.
#pragma once

#include "kernels/lanes/micro_kernel.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Numbers per 16-byte copy, and the depth of a slab.
template <class T>
inline constexpr int chunk_numbers = 16 / static_cast<int>(sizeof(T));
template <class T>
inline constexpr int slab_depth = 128 / static_cast<int>(sizeof(T));

template <class T>
struct alignas(16) Chunk {
  T x[chunk_numbers<T>];
};

/// Layout of a slab of A in shared memory, as in global memory: K row by row, V key by key.
template <class P>
struct SlabLayout {
  using T = typename P::T;
  static constexpr bool is_keys = std::is_same_v<P, KeysProduct<T>>;
  static constexpr int rows = column_group * team_warps;  ///< maximum rows of A
  static constexpr int m_pitch = is_keys ? slab_depth<T> : 1, k_pitch = is_keys ? 1 : rows;
  static_assert(rows * slab_depth<T> * static_cast<int>(sizeof(T)) <= slab_bytes);
};

/// Copies `bytes` from global to shared memory, or zeros if not `inside`; complete after `wait_for_copies` and a barrier.
template <int bytes>
ATTOSCOPE_HOST_DEVICE_INLINE void copy_to_shared(void* shared, const void* from, bool inside) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const auto global = __cvta_generic_to_global(from);
  const int size = inside ? bytes : 0;
  if constexpr (bytes == 16) {  // bypasses the first-level cache
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(size) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(bytes), "r"(size) : "memory");
  }
#else
  struct alignas(bytes) Piece {
    char x[bytes];
  };
  *static_cast<Piece*>(shared) = inside ? *static_cast<const Piece*>(GlobalMemory::at(from)) : Piece{};
#endif
}
ATTOSCOPE_HOST_DEVICE_INLINE void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// Stride between rows of K, or of V, in global memory; the other stride is 1.
template <class P>
ATTOSCOPE_HOST_DEVICE_INLINE std::ptrdiff_t pitch_of(const P& p) {
  return SlabLayout<P>::is_keys ? p.m_stride : p.k_stride;
}

/// Copies A's elements (m0 .., k0 <= k < end) to `slab`, `numbers` at a time; rows after A's last row become 0. `pitch` is A's
/// pitch if it is a compile-time constant, else 0.
template <int numbers, int pitch, class P>
ATTOSCOPE_HOST_DEVICE_INLINE void copy_slab(const P& p, int m0, int k0, int end, typename P::T* slab) {
  using T = typename P::T;
  using Layout = SlabLayout<P>;
  const int own_rows = column_group * p.group.warps(), depth = end - k0;
  // runs of adjacent elements: along k, one row of K per m; along m, one row of V per k
  constexpr int run = (Layout::is_keys ? slab_depth<T> : Layout::rows) / numbers;
  const int runs = Layout::is_keys ? own_rows : slab_depth<T>;
  const std::ptrdiff_t stride = pitch != 0 ? pitch : pitch_of(p);
  const T* const a = p.a + (Layout::is_keys ? m0 * stride + k0 : m0 + k0 * stride);
  const int m_left = p.m - m0;
  for (int i = p.group.thread(); i < run * runs; i += p.group.threads()) {
    const int row = i / run, at = i % run * numbers, m = Layout::is_keys ? row : at, k = Layout::is_keys ? at : row;
    if (k >= depth || m >= own_rows) continue;
    const bool inside = m < m_left;
    copy_to_shared<numbers* static_cast<int>(sizeof(T))>(
        slab + row * (Layout::is_keys ? Layout::m_pitch : Layout::k_pitch) + at, a + (inside ? row * stride + at : 0), inside);
  }
}

/// True if A can be copied in 16-byte chunks from k0 on.
template <class P>
ATTOSCOPE_HOST_DEVICE_INLINE bool has_whole_chunks(const P& p, int k0, int end) {
  using T = typename P::T;
  constexpr int chunk = chunk_numbers<T>;
  const bool aligned = reinterpret_cast<std::uintptr_t>(p.a) % sizeof(Chunk<T>) == 0;
  if (SlabLayout<P>::is_keys) return aligned && p.m_stride % chunk == 0 && k0 % chunk == 0 && end % chunk == 0;
  return aligned && p.k_stride % chunk == 0 && p.m % chunk == 0;
}

/// Copies a slab. The usual head dimensions have specialised code without multiplications in its addresses.
template <class P>
ATTOSCOPE_HOST_DEVICE_INLINE void stage_slab(const P& p, int m0, int k0, int end, typename P::T* slab) {
  constexpr int chunk = chunk_numbers<typename P::T>;
  if (!has_whole_chunks(p, k0, end)) return copy_slab<1, 0>(p, m0, k0, end, slab);
  switch (pitch_of(p)) {
    case 64:
      return copy_slab<chunk, 64>(p, m0, k0, end, slab);
    case 128:
      return copy_slab<chunk, 128>(p, m0, k0, end, slab);
    default:
      return copy_slab<chunk, 0>(p, m0, k0, end, slab);
  }
}

/// The warp's column_group rows of a slab, `depth` steps from k0 on.
template <class P>
struct OwnSlab {
  using T = typename P::T;
  using Layout = SlabLayout<P>;
  const T* first;  ///< first element of its rows
  int m0, k0, depth;

  /// Chunk of adjacent elements that starts at A(m0 + i, k0 + k).
  ATTOSCOPE_HOST_DEVICE_INLINE Chunk<T> chunk(int i, int k) const {
    return *reinterpret_cast<const Chunk<T>*>(first + i * Layout::m_pitch + k * Layout::k_pitch);
  }
  ATTOSCOPE_HOST_DEVICE_INLINE T value(int i, int k) const { return first[i * Layout::m_pitch + k * Layout::k_pitch]; }
};

/// The range of steps in which a lane takes part, in registers.
template <bool masked, class T>
struct OwnSteps {
  T first, end;
  template <class P>
  ATTOSCOPE_HOST_DEVICE_INLINE explicit OwnSteps(const P& p) : first(*p.first), end(*p.end) {}
  ATTOSCOPE_HOST_DEVICE_INLINE T next(int k, T sum, T next) const {
    const T step = static_cast<T>(k);
    return step < first || !(step < end) ? sum : next;
  }
};
template <class T>
struct OwnSteps<false, T> {
  template <class P>
  ATTOSCOPE_HOST_DEVICE_INLINE explicit OwnSteps(const P&) {}
  ATTOSCOPE_HOST_DEVICE_INLINE T next(int, T, T next) const { return next; }
};

/// Performs one step: sum[i] += A(m0 + i, k) * B(k), rounded; `a(i)` returns A's element.
template <class P, class Steps, class Rounder, class A>
ATTOSCOPE_HOST_DEVICE_INLINE void add_step(const P& p, const OwnSlab<P>& x, const Steps& steps, int k, typename P::T b,
                                           const Rounder& rounder, A a, typename P::T (&sum)[column_group]) {
  ATTOSCOPE_UNROLL(unroll)
  for (int i = 0; i < column_group; ++i)
    sum[i] = steps.next(k, sum[i], rounder(fused(a(i), b, sum[i]), RoundingKey{0, p.first_m + x.m0 + i, p.first_k + k}));
}

/// Adds all steps of the slab to the sums, in order of k.
template <bool masked, class P, class Rounder>
ATTOSCOPE_HOST_DEVICE_INLINE void add_slab(const P& p, const OwnSlab<P>& x, const OwnSteps<masked, typename P::T>& steps,
                                           const Rounder& rounder, typename P::T (&sum)[column_group]) {
  using T = typename P::T;
  constexpr int chunk = chunk_numbers<T>;
  [[maybe_unused]] constexpr int unrolled = std::is_same_v<Rounder, NoRounder> && !masked ? 2 : 1;
  const auto vectors = as_vectors(p.b) + x.k0;
  // Loads that the compiler cannot move leave more registers for steps that may call a function.
  const auto b = [vectors](int k) { return std::is_same_v<Rounder, GeneralRounder<T>> ? vectors.value(k) : vectors[k]; };
  int k = 0;
  if constexpr (SlabLayout<P>::is_keys) {
    ATTOSCOPE_UNROLL(unroll unrolled)
    for (; k + chunk <= x.depth; k += chunk) {
      Chunk<T> a[column_group];
      ATTOSCOPE_UNROLL(unroll)
      for (int i = 0; i < column_group; ++i) a[i] = x.chunk(i, k);
      ATTOSCOPE_UNROLL(unroll)
      for (int c = 0; c < chunk; ++c)
        add_step(p, x, steps, x.k0 + k + c, b(k + c), rounder, [&](int i) { return a[i].x[c]; }, sum);
    }
  } else {
    ATTOSCOPE_UNROLL(unroll 2 * unrolled)
    for (; k < x.depth; ++k) {
      Chunk<T> a[column_group / chunk];
      ATTOSCOPE_UNROLL(unroll)
      for (int i = 0; i < column_group / chunk; ++i) a[i] = x.chunk(i * chunk, k);
      add_step(p, x, steps, x.k0 + k, b(k), rounder, [&](int i) { return a[i / chunk].x[i % chunk]; }, sum);
    }
  }
  for (; k < x.depth; ++k) add_step(p, x, steps, x.k0 + k, b(k), rounder, [&](int i) { return x.value(i, k); }, sum);
}

/// Calls f(own slab) for each slab of A in turn, from row m0 on, while the next one is copied. `edge(k)` returns the end of the
/// slab that begins at k. Warps without rows only copy.
template <class P, class Edge, class F>
ATTOSCOPE_HOST_DEVICE_INLINE void each_slab(const P& p, int m0, Edge edge, F f) {
  using T = typename P::T;
  T* const slabs = reinterpret_cast<T*>(p.group.shared());
  constexpr int numbers = slab_bytes / static_cast<int>(sizeof(T));
  const int own = column_group * p.group.warp();
  p.group.sync();  // all warps have read the slabs, and B is complete
  int end = edge(0), turn = 0;
  stage_slab(p, m0, 0, end, slabs);
  for (int k0 = 0; k0 < p.depth; turn ^= 1) {
    wait_for_copies();
    p.group.sync();
    const int next = end < p.depth ? edge(end) : end;
    if (next > end) stage_slab(p, m0, end, next, slabs + (turn ^ 1) * numbers);
    const OwnSlab<P> x{slabs + turn * numbers + own * SlabLayout<P>::m_pitch, m0 + own, k0, end - k0};
    if (x.m0 < p.m) f(x);
    k0 = end;
    end = next;
  }
}

/// Computes rows m0 .. m0 + column_group * warps - 1 of C.
template <bool masked, class P, class Rounder>
ATTOSCOPE_HOST_DEVICE_INLINE void product_rows(const P& p, int m0, const Rounder& rounder) {
  using T = typename P::T;
  const int own = m0 + column_group * p.group.warp(), rows = p.m - own;
  const auto c = p.c + static_cast<std::ptrdiff_t>(own);
  T sum[column_group];
  ATTOSCOPE_UNROLL(unroll)
  for (int i = 0; i < column_group; ++i) sum[i] = p.resume && i < rows ? c[i] : T{0};
  const auto edge = [&p](int k) { return p.depth - k < slab_depth<T> ? p.depth : k + slab_depth<T>; };
  const OwnSteps<masked, T> steps(p);
  each_slab(p, m0, edge, [&](const OwnSlab<P>& x) { add_slab<masked>(p, x, steps, rounder, sum); });
  ATTOSCOPE_UNROLL(unroll)
  for (int i = 0; i < column_group; ++i)
    if (i < rows) c[i] = sum[i];
}

/// Takes both arguments by value: references would be read from the caller's stack in every step.
template <bool masked, class P, class Rounder>
ATTOSCOPE_HOST_DEVICE_NOINLINE void product_with(const P p, const Rounder rounder) {
  for (int m = 0; m < p.m; m += column_group * p.group.warps()) product_rows<masked>(p, m, rounder);
}

/// The product, rounded by `plan` after every fma. `in_domain`, equal in all lanes, allows ShortRounder.
template <bool masked, class P, class T>
ATTOSCOPE_HOST_DEVICE void product(const P& p, const RounderPlan<T>& plan, bool in_domain) {
  if constexpr (records_roundings) {
    with_rounder(plan, p.step, p.random, [&](auto rounder) { product_with<masked>(p, rounder); });
  } else if constexpr (masked) {  // at the mask's edges only, so the general functor is fast enough
    product_with<true>(p, GeneralRounder<T>(plan, p.step, p.random));
  } else if (!plan.rounds()) {
    product_with<false>(p, NoRounder{});
  } else if (plan.can_be_short && in_domain) {
    product_with<false>(p, ShortRounder<T>{plan});
  } else if (plan.kind == RounderKind::bits) {
    product_with<false>(p, BitsRounder<T>{plan});
  } else if (plan.kind == RounderKind::half || plan.kind == RounderKind::magic) {
    product_with<false>(p, MagicRounder<T>{plan});
  } else {
    product_with<false>(p, GeneralRounder<T>(plan, p.step, p.random));
  }
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
