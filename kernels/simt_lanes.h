/// Lanes that are the threads of a GPU's warp, each with query rows of its own: included by lanes.h where it is compiled for
/// these. The host runs the very same lines, one lane after the other or all lanes of a warp side by side.
#pragma once

#include "kernels/job.h"
#include "kernels/lanes.h"

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

/// Rows of a lane, and keys or columns that a lane's registers hold sums of. Of 16 x 2 sums, a step of k reads 2 operands of
/// the lane's own and a sixteenth of 16 shared ones at a time (128 bits each): 6 reads for 32 fma in float, 12 in double, where
/// a multiprocessor has time for 8 and 16 reads.
inline constexpr int warp_lanes = 32, row_vectors = 2, column_group = 16;

template <class T>
struct Lanes {
  using V = T;
  static constexpr int width = 1, vectors = row_vectors, rows = row_vectors;
};

/// An array of one lane's scratch: the warp's lanes lie side by side, so that what all of them read at once is one transaction.
inline constexpr int lane_stride = warp_lanes;
template <class X>
class LaneArray {
 public:
  LaneArray() = default;
  ATTOSCOPE_HD explicit LaneArray(X* first) : first_(first) {}
  template <class Y>
    requires(std::is_same_v<X, const Y>)
  ATTOSCOPE_HD LaneArray(const LaneArray<Y>& y) : first_(y.get()) {}

  ATTOSCOPE_HD X& operator[](std::ptrdiff_t i) const { return first_[i * lane_stride]; }
  ATTOSCOPE_HD X& operator*() const { return *first_; }
  ATTOSCOPE_HD LaneArray operator+(std::ptrdiff_t i) const { return LaneArray(first_ + i * lane_stride); }
  ATTOSCOPE_HD LaneArray& operator+=(std::ptrdiff_t i) {
    first_ += i * lane_stride;
    return *this;
  }
  ATTOSCOPE_HD explicit operator bool() const { return first_ != nullptr; }
  ATTOSCOPE_HD X* get() const { return first_; }

 private:
  X* first_ = nullptr;
};
template <class X>
ATTOSCOPE_HD X* first_of(LaneArray<X> x) {
  return x.get();
}
template <class T>
ATTOSCOPE_HD LaneArray<T> as_vectors(LaneArray<T> x) {
  return x;
}

template <class V>
ATTOSCOPE_HD V loaded(const V* x) {
  return *x;
}

template <class V>
ATTOSCOPE_HD V lane_of(const V& v, int) {
  return v;
}
template <class V, class X>
ATTOSCOPE_HD void set_lane(V& v, int, X x) {
  v = x;
}

/// Hands out a lane's arrays from its warp's memory; with null memory it only counts.
class LaneArena {
 public:
  ATTOSCOPE_HD explicit LaneArena(void* memory, int lane = 0) : memory_(static_cast<char*>(memory)), lane_(lane) {}

  template <class X>
  ATTOSCOPE_HD LaneArray<X> take(std::size_t count) {
    const LaneArray<X> array(memory_ ? reinterpret_cast<X*>(memory_ + used_) + lane_ : nullptr);
    used_ += (count * warp_lanes * sizeof(X) + 127) / 128 * 128;
    return array;
  }
  /// Bytes of the warp.
  ATTOSCOPE_HD std::size_t used() const { return used_; }

 private:
  char* memory_;
  int lane_;
  std::size_t used_ = 0;
};

/// Bytes through which the lanes of a warp share operands.
inline constexpr int staged_depth = 32, staged_bytes = staged_depth * (column_group * 8 + 16);

#ifdef __CUDA_ARCH__

/// The warp that the calling thread belongs to. Every lane makes every call, in the same order.
struct Crew {
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

/// How the lanes of a warp meet on the host.
struct Meeting {
  virtual ~Meeting() = default;
  /// Returns when every lane has called; the least of their numbers.
  virtual int least(int lane, int x) = 0;
};

/// The warp that a lane belongs to on the host: without a meeting it is the only one.
struct Crew {
  Meeting* meeting = nullptr;
  int lane_ = 0;
  void* stage_ = nullptr;  ///< staged_bytes, the warp's; null: none is wanted

  int lane() const { return meeting ? lane_ : 0; }
  int width() const { return meeting ? warp_lanes : 1; }
  int least(int x) const { return meeting ? meeting->least(lane_, x) : x; }
  int greatest(int x) const { return -least(-x); }
  bool all(bool x) const { return least(x ? 1 : 0) == 1; }
  void sync() const { least(0); }
  void* stage() const { return stage_; }
};

#endif

/// What stochastic rounding draws from: the seed, and the row of Q in every row of the lane.
template <class T>
struct Dice {
  std::uint64_t seed = 0;
  LaneArray<const T> rows{};
};

/// Rounding of the kinds that cost much: one copy of their code.
template <class T>
ATTOSCOPE_APART T rounded_at_length(const RounderPlan<T>& p, T x, Step step, const Dice<T>& dice, Where at) {
  if (p.kind != RounderKind::stochastic) return round(p.format, x);
  return round_stochastic(p.format, x, dice_roll(dice.seed, step, static_cast<int>(dice.rows[at.r]), at.i, at.k));
}

/// Every rounding but none, decided as it rounds: formats are data, and code for each kind would be compiled for each loop.
template <class T>
struct GeneralRounder {
  const RounderPlan<T>& plan;
  BitsRounder<T> bits;
  MagicRounder<T> magic;
  Step step;
  Dice<T> dice;
  ATTOSCOPE_HD GeneralRounder(const RounderPlan<T>& p, Step s, const Dice<T>& d)
      : plan(p), bits(p), magic(p), step(s), dice(d) {}

  ATTOSCOPE_HD T operator()(T x, Where at = {}) const {
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
    return rounded_at_length(plan, x, step, dice, at);
  }
};

/// Calls `use` with the functor that the plan asks for.
template <class T, class Use>
ATTOSCOPE_HD void with_rounder(const RounderPlan<T>& p, Step step, const Dice<T>& dice, Use&& use) {
  if (p.rounds()) {
    use(GeneralRounder<T>(p, step, dice));
  } else {
    use(NoRounder{});
  }
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
