/// Lanes that are the elements of a CPU's vectors; included by lanes.h for its instruction set.
#pragma once

#include <immintrin.h>

#include "kernels/lanes/arena.h"
#include "kernels/lanes/job.h"
#include "kernels/lanes/lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64, row_vectors = 4, column_group = 4;
#elif defined(__AVX2__)
inline constexpr int vector_bytes = 32, row_vectors = 2, column_group = 4;
#else
inline constexpr int vector_bytes = 16, row_vectors = 4, column_group = 2;
#endif

/// A CPU block belongs to one thread and logs no roundings.
inline constexpr bool has_teams = false, records_roundings = false;

/// Number of the meter's chains per run of its loop.
inline constexpr int metered_chains = DeviationSums::chains;

using FloatV = float __attribute__((vector_size(vector_bytes)));
using DoubleV = double __attribute__((vector_size(vector_bytes)));
using Int32V = std::int32_t __attribute__((vector_size(vector_bytes)));
using Int64V = std::int64_t __attribute__((vector_size(vector_bytes)));
using UInt32V = std::uint32_t __attribute__((vector_size(vector_bytes)));
using UInt64V = std::uint64_t __attribute__((vector_size(vector_bytes)));

/// Vector type of T, its number of lanes, and the query rows per block.
template <class T>
struct Lanes {
  using V = std::conditional_t<std::is_same_v<T, float>, FloatV, DoubleV>;
  static constexpr int width = vector_bytes / sizeof(T);
  static constexpr int vectors = row_vectors;
  static constexpr int rows = width * vectors;
};

/// An array in a block's scratch, contiguous.
template <class X>
using LaneArray = X*;
template <class X>
using TileArray = X*;
using LaneArena = Arena;
inline constexpr int lane_stride = 1;
template <class X>
X* first_of(X* x) {
  return x;
}
/// A CPU has one address space: returns x.
template <class X>
X* in_global(X* x) {
  return x;
}
/// Loads a vector of elements starting at x.
template <class V, class X>
V loaded(const X* x) {
  V v;
  __builtin_memcpy(&v, x, sizeof v);
  return v;
}

/// The array as vectors of lanes.
template <class T>
typename Lanes<T>::V* as_vectors(T* x) {
  return reinterpret_cast<typename Lanes<T>::V*>(x);
}
template <class T>
const typename Lanes<T>::V* as_vectors(const T* x) {
  return reinterpret_cast<const typename Lanes<T>::V*>(x);
}

template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE auto lane_of(const V& v, int lane) {
  return v[lane];
}
template <class V, class X>
ATTOSCOPE_HOST_DEVICE_INLINE void set_lane(V& v, int lane, X x) {
  v[lane] = x;
}

/// x cut towards 0 to an integer; unspecified if out of range of 32 bits.
ATTOSCOPE_HOST_DEVICE_INLINE Int32V truncated(FloatV x) { return __builtin_convertvector(x, Int32V); }
/// x rounded towards 0 to a float.
ATTOSCOPE_HOST_DEVICE_INLINE FloatV cut_to_float(Int32V x) {
#if defined(__AVX512F__)
  return FloatV(_mm512_cvt_roundepi32_ps(__m512i(x), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
#else
  const FloatV nearest = __builtin_convertvector(x, FloatV);
  const UInt32V bits = UInt32V(x), size = x < 0 ? UInt32V{} - bits : bits,
                back = UInt32V(truncated(nearest < 0.0F ? -nearest : nearest));  // 2^31 is -2^31
  return FloatV(Int32V(nearest) - (back > size ? Int32V{} + 1 : Int32V{}));
#endif
}

/// True if any lane of x, each 0 or 1, is 1.
ATTOSCOPE_HOST_DEVICE_INLINE bool any(Int32V x) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask(__m512i(x), __m512i(x)) != 0;
#elif defined(__AVX2__)
  return _mm256_testz_si256(__m256i(x), __m256i(x)) == 0;
#else
  return _mm_movemask_ps(__m128(x << 31)) != 0;
#endif
}

/// Selects lanes of the concatenation of a and b.
template <class V, class I>
ATTOSCOPE_HOST_DEVICE_INLINE V shuffled(const V& a, const V& b, const I& numbers) {
#ifdef __clang__  // only constant indices allowed
  constexpr int width = sizeof(V) / sizeof(a[0]);
  V result;
  for (int i = 0; i < width; ++i) result[i] = numbers[i] < width ? a[numbers[i]] : b[numbers[i] - width];
  return result;
#else
  return __builtin_shuffle(a, b, numbers);
#endif
}

/// The lanes that work together; on a CPU every block works alone.
struct LaneGroup {
  int rows = std::numeric_limits<int>::max();  ///< rows of the block: lanes from this one on repeat the last row
  int least(int x) const { return x; }
  int greatest(int x) const { return x; }
  bool all(bool x) const { return x; }
  void sync() const {}
  bool leads() const { return true; }
  int warp() const { return 0; }
  int warps() const { return 1; }
  /// Calls f(first, end) once for all of 0 .. count; on a GPU, warps share them.
  template <class F>
  ATTOSCOPE_HOST_DEVICE_INLINE void each_own(int count, F f) const {
    f(0, count);
  }
};

#if !defined(__AVX2__)  // see emulated_fma.h
FloatV emulated_fma(FloatV a, FloatV b, FloatV c);
DoubleV emulated_fma(DoubleV a, DoubleV b, DoubleV c);
template <class V, class F>
auto by_likely_fma(const F& f);
#endif

/// Properties of the vectors' fma. If it is emulated, `by_likely_fma` offers a faster fma that is right in most cases.
template <class V>
struct FmaOfLanes {
#if defined(__AVX2__)
  static constexpr bool emulates_fma = false;
#else
  static constexpr bool emulates_fma = true;
  template <class F>
  ATTOSCOPE_HOST_DEVICE_INLINE static auto by_likely_fma(const F& f) {
    return ATTOSCOPE_ISA::by_likely_fma<V>(f);
  }
#endif
};

}  // namespace ATTOSCOPE_ISA

template <>
struct Lane<ATTOSCOPE_ISA::FloatV> : ATTOSCOPE_ISA::FmaOfLanes<ATTOSCOPE_ISA::FloatV> {
  using FloatV = ATTOSCOPE_ISA::FloatV;
  using Scalar = float;
  using Int = ATTOSCOPE_ISA::Int32V;
  using UInt = ATTOSCOPE_ISA::UInt32V;
#if defined(__AVX512F__)
  static constexpr bool has_scale = true;
  ATTOSCOPE_HOST_DEVICE_INLINE static FloatV scaled(FloatV p, FloatV n) {
    return FloatV(_mm512_scalef_ps(__m512(p), __m512(n)));
  }
  /// x limited to [low, high]. max and min return their second operand if one of them is NaN.
  ATTOSCOPE_HOST_DEVICE_INLINE static FloatV within(FloatV x, FloatV low, FloatV high) {
    return FloatV(_mm512_min_ps(__m512(high), _mm512_max_ps(__m512(low), __m512(x))));
  }
#else
  static constexpr bool has_scale = false;
#endif
  ATTOSCOPE_HOST_DEVICE_INLINE static FloatV fused(FloatV a, FloatV b, FloatV c) {
#if defined(__AVX512F__)
    return FloatV(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
#elif defined(__AVX2__)
    return FloatV(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
#else
    return ATTOSCOPE_ISA::emulated_fma(a, b, c);
#endif
  }
};
template <>
struct Lane<ATTOSCOPE_ISA::DoubleV> : ATTOSCOPE_ISA::FmaOfLanes<ATTOSCOPE_ISA::DoubleV> {
  using DoubleV = ATTOSCOPE_ISA::DoubleV;
  using Scalar = double;
  using Int = ATTOSCOPE_ISA::Int64V;
  using UInt = ATTOSCOPE_ISA::UInt64V;
#if defined(__AVX512F__)
  static constexpr bool has_scale = true;
  ATTOSCOPE_HOST_DEVICE_INLINE static DoubleV scaled(DoubleV p, DoubleV n) {
    return DoubleV(_mm512_scalef_pd(__m512d(p), __m512d(n)));
  }
  ATTOSCOPE_HOST_DEVICE_INLINE static DoubleV within(DoubleV x, DoubleV low, DoubleV high) {
    return DoubleV(_mm512_min_pd(__m512d(high), _mm512_max_pd(__m512d(low), __m512d(x))));
  }
#else
  static constexpr bool has_scale = false;
#endif
  ATTOSCOPE_HOST_DEVICE_INLINE static DoubleV fused(DoubleV a, DoubleV b, DoubleV c) {
#if defined(__AVX512F__)
    return DoubleV(_mm512_fmadd_pd(__m512d(a), __m512d(b), __m512d(c)));
#elif defined(__AVX2__)
    return DoubleV(_mm256_fmadd_pd(__m256d(a), __m256d(b), __m256d(c)));
#else
    return ATTOSCOPE_ISA::emulated_fma(a, b, c);
#endif
  }
};

namespace ATTOSCOPE_ISA {

#if defined(__F16C__)
/// fp16 by conversion instructions: the same bits as `round`, except that NaN may become another NaN.
struct HalfRounder {
  explicit HalfRounder(const RounderPlan<float>&) {}

  ATTOSCOPE_HOST_DEVICE_INLINE FloatV operator()(FloatV x, RoundingKey = {}) const {
#if defined(__AVX512F__)
    return FloatV(_mm512_cvtph_ps(_mm512_cvtps_ph(__m512(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)));
#else
    return FloatV(_mm256_cvtph_ps(_mm256_cvtps_ph(__m256(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)));
#endif
  }
};
#else
using HalfRounder = MagicRounder<float>;
#endif

/// `round` in every lane.
template <class T>
struct SlowRounder {
  Format format;
  explicit SlowRounder(const RounderPlan<T>& p) : format(p.format) {}

  template <class V>
  V operator()(V x, RoundingKey = {}) const {
    for (unsigned i = 0; i < sizeof(V) / sizeof(T); ++i) x[i] = round(format, x[i]);
    return x;
  }
};

/// Key of stochastic rounding's random bits: the seed and the row of Q in every lane of a block.
template <class T>
struct RandomBits {
  std::uint64_t seed = 0;
  const T* rows = nullptr;  ///< [lane]
};

/// `round_stochastic` in every lane.
template <class T>
struct StochasticRounder {
  Format format;
  Step step;
  RandomBits<T> random;

  template <class V>
  V operator()(V x, RoundingKey at = {}) const {
    constexpr int width = sizeof(V) / sizeof(T);
    for (int i = 0; i < width; ++i)
      x[i] = round_stochastic(format, x[i],
                              random_bits(random.seed, step, static_cast<int>(random.rows[at.r * width + i]), at.i, at.k));
    return x;
  }
};

/// Calls `use` with the functor of the plan's kind: one branch, then straight loops. Functors take (x, RoundingKey).
template <class T, class Use>
inline void with_rounder(const RounderPlan<T>& p, Step step, const RandomBits<T>& random, Use&& use) {
  switch (p.kind) {
    case RounderKind::none:
      return use(NoRounder{});
    case RounderKind::bits:
      return use(BitsRounder<T>{p});
    case RounderKind::magic:
      return use(MagicRounder<T>{p});
    case RounderKind::slow:
      return use(SlowRounder<T>{p});
    case RounderKind::stochastic:
      return use(StochasticRounder<T>{p.format, step, random});
    case RounderKind::half:
      if constexpr (std::is_same_v<T, float>) use(HalfRounder{p});
      return;
  }
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope

#if !defined(__AVX2__)
#include "kernels/lanes/emulated_fma.h"
#endif
