/// Lanes that are the threads of a GPU's warp, each with its own query rows; included by lanes.h where ATTOSCOPE_SIMT is
/// defined. The host can run the same code, one lane after the other or all lanes of a warp in turns.
#pragma once

#include "kernels/lanes/job.h"
#include "kernels/lanes/lanes.h"

#ifndef __CUDA_ARCH__
#include <atomic>
#endif

namespace attoscope {
namespace ATTOSCOPE_ISA {

using FloatV = float;
using DoubleV = double;
using Int64V = std::int64_t;
using UInt64V = std::uint64_t;

/// How many of the meter's chains one lane follows.
inline constexpr int metered_chains = 1;

/// Rows of a lane, and keys or columns whose sums a lane holds in registers. For 16 x 2 sums, one step of k reads 2 operands of
/// the lane itself and 16 shared ones, 128 bits at a time: 6 reads for 32 fma in float, 12 in double, where a multiprocessor
/// has time for 8 and 16 reads.
inline constexpr int warp_lanes = 32, row_vectors = 2, column_group = 16;

template <class T>
struct Lanes {
  using V = T;
  static constexpr int width = 1, vectors = row_vectors, rows = row_vectors;
};

/// An array in one lane's scratch. The lanes' elements are interleaved, so that what a warp reads at once is contiguous.
inline constexpr int lane_stride = warp_lanes;
template <class X>
class LaneArray {
 public:
  LaneArray() = default;
  ATTOSCOPE_HOST_DEVICE_INLINE explicit LaneArray(X* first) : first_(first) {}
  template <class Y>
    requires(std::is_same_v<X, const Y>)
  ATTOSCOPE_HOST_DEVICE_INLINE LaneArray(const LaneArray<Y>& y) : first_(y.get()) {}

  ATTOSCOPE_HOST_DEVICE_INLINE X& operator[](std::ptrdiff_t i) const { return first_[i * lane_stride]; }
  ATTOSCOPE_HOST_DEVICE_INLINE X& operator*() const { return *first_; }
  ATTOSCOPE_HOST_DEVICE_INLINE LaneArray operator+(std::ptrdiff_t i) const { return LaneArray(first_ + i * lane_stride); }
  ATTOSCOPE_HOST_DEVICE_INLINE LaneArray& operator+=(std::ptrdiff_t i) {
    first_ += i * lane_stride;
    return *this;
  }
  ATTOSCOPE_HOST_DEVICE_INLINE explicit operator bool() const { return first_ != nullptr; }
  ATTOSCOPE_HOST_DEVICE_INLINE X* get() const { return first_; }

 private:
  X* first_ = nullptr;
};
template <class X>
ATTOSCOPE_HOST_DEVICE_INLINE X* first_of(LaneArray<X> x) {
  return x.get();
}
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE LaneArray<T> as_vectors(LaneArray<T> x) {
  return x;
}

template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V loaded(const V* x) {
  return *x;
}

template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V lane_of(const V& v, int) {
  return v;
}
template <class V, class X>
ATTOSCOPE_HOST_DEVICE_INLINE void set_lane(V& v, int, X x) {
  v = x;
}

/// x, which is less than 2^31, cut towards 0 to an integer.
ATTOSCOPE_HOST_DEVICE_INLINE std::int32_t truncated(float x) { return static_cast<std::int32_t>(x); }
/// The float nearest to x, towards 0.
ATTOSCOPE_HOST_DEVICE_INLINE float cut_to_float(std::int32_t x) {
#ifdef __CUDA_ARCH__
  return __int2float_rz(x);
#else
  const auto nearest = static_cast<float>(x);
  const double exact = x, found = static_cast<double>(nearest);
  const bool over = exact < 0 ? found < exact : found > exact;
  return bit_as<float>(bit_as<std::int32_t>(nearest) - (over ? 1 : 0));
#endif
}

ATTOSCOPE_HOST_DEVICE_INLINE bool any(std::int32_t x) { return x != 0; }

/// Hands out a lane's arrays from its warp's memory; with null memory it only counts.
class LaneArena {
 public:
  ATTOSCOPE_HOST_DEVICE_INLINE explicit LaneArena(void* memory, int lane = 0)
      : memory_(static_cast<char*>(memory)), lane_(lane) {}

  template <class X>
  ATTOSCOPE_HOST_DEVICE_INLINE LaneArray<X> take(std::size_t count) {
    const LaneArray<X> array(memory_ ? reinterpret_cast<X*>(memory_ + used_) + lane_ : nullptr);
    used_ += (count * warp_lanes * sizeof(X) + 127) / 128 * 128;
    return array;
  }
  /// Bytes of the warp.
  ATTOSCOPE_HOST_DEVICE_INLINE std::size_t used() const { return used_; }

 private:
  char* memory_;
  int lane_;
  std::size_t used_ = 0;
};

/// Depth and bytes of the shared memory through which the lanes of a warp share operands.
inline constexpr int staged_depth = 32, staged_bytes = staged_depth * (column_group * 8 + 16);

#ifdef __CUDA_ARCH__

/// The lanes that work together: the warp of the calling thread. Every lane makes every call, in the same order.
struct LaneGroup {
  __device__ __forceinline__ int lane() const { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ int width() const { return warp_lanes; }
  __device__ __forceinline__ void sync() const { __syncwarp(); }
  __device__ __forceinline__ bool all(bool x) const { return __all_sync(0xffffffffu, x) != 0; }
  __device__ __forceinline__ int least(int x) const {
    for (int distance = warp_lanes / 2; distance > 0; distance /= 2) {
      const int other = __shfl_xor_sync(0xffffffffu, x, distance);
      x = other < x ? other : x;
    }
    return x;
  }
  __device__ __forceinline__ int greatest(int x) const { return -least(-x); }
  __device__ __forceinline__ void* stage() const {
    __shared__ double2 staged[staged_bytes / sizeof(double2)];  // a thread block is one warp
    return staged;
  }
};

#else

/// The barrier of a warp's lanes on the host.
struct WarpBarrier {
  virtual ~WarpBarrier() = default;
  /// Returns once every lane has called it: the least of their numbers.
  virtual int least(int lane, int x) = 0;
};

/// The warp that a lane belongs to on the host; without a barrier the lane is alone.
struct LaneGroup {
  WarpBarrier* barrier = nullptr;
  int lane_ = 0;
  void* stage_ = nullptr;  ///< the warp's staged_bytes; null where none are needed

  int lane() const { return barrier ? lane_ : 0; }
  int width() const { return barrier ? warp_lanes : 1; }
  int least(int x) const { return barrier ? barrier->least(lane_, x) : x; }
  int greatest(int x) const { return -least(-x); }
  bool all(bool x) const { return least(x ? 1 : 0) == 1; }
  void sync() const { least(0); }
  void* stage() const { return stage_; }
};

#endif

/// What the random bits of stochastic rounding depend on: the seed, and the row of Q in every row of the lane.
template <class T>
struct RandomBits {
  std::uint64_t seed = 0;
  LaneArray<const T> rows{};
};

/// The expensive kinds of rounding: one copy of their code.
template <class T>
ATTOSCOPE_HOST_DEVICE_NOINLINE T rounded_at_length(const RounderPlan<T>& p, T x, Step step, const RandomBits<T>& random,
                                                   Where at) {
  if (p.kind != RounderKind::stochastic) return round(p.format, x);
  return round_stochastic(p.format, x, random_bits(random.seed, step, static_cast<int>(random.rows[at.r]), at.i, at.k));
}

/// Any kind of rounding, chosen at run time: a copy of every loop for every kind would be too much code.
template <class T>
struct GeneralRounder {
  const RounderPlan<T>& plan;
  BitsRounder<T> bits;
  MagicRounder<T> magic;
  Step step;
  RandomBits<T> random;
  ATTOSCOPE_HOST_DEVICE_INLINE GeneralRounder(const RounderPlan<T>& p, Step s, const RandomBits<T>& d)
      : plan(p), bits(p), magic(p), step(s), random(d) {}

  ATTOSCOPE_HOST_DEVICE_INLINE T operator()(T x, Where at = {}) const {
    switch (plan.kind) {
      case RounderKind::none:
        return x;
      case RounderKind::bits:
        return bits(x);
      case RounderKind::half:
      case RounderKind::magic:
        return magic(x);
      case RounderKind::slow:
      case RounderKind::stochastic:
        break;
    }
    return rounded_at_length(plan, x, step, random, at);
  }
};

/// Calls `use` with the functor that the plan asks for.
template <class T, class Use>
ATTOSCOPE_HOST_DEVICE_INLINE void with_rounder(const RounderPlan<T>& p, Step step, const RandomBits<T>& random, Use&& use) {
  if (p.rounds()) {
    use(GeneralRounder<T>(p, step, random));
  } else {
    use(NoRounder{});
  }
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
