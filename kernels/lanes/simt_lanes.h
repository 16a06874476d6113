/// Lanes that are threads of a GPU's warps, one query row each; included by lanes.h if ATTOSCOPE_SIMT is defined. The host can
/// run the same code: lane after lane, or all threads of a team in turns.
#pragma once

#include "kernels/lanes/job.h"
#include "kernels/lanes/lanes.h"
#ifdef ATTOSCOPE_RECORDS
#include "kernels/lanes/rounding_log.h"
#endif

namespace attoscope {
namespace ATTOSCOPE_ISA {

using FloatV = float;
using DoubleV = double;
using Int64V = std::int64_t;
using UInt64V = std::uint64_t;

/// Number of the meter's chains per lane.
inline constexpr int metered_chains = 1;

/// A team is a GPU's thread block: warps that compute the same 32 rows, one per lane. They divide the work by keys (q.k, exp)
/// and by columns (P.V, O), in groups of `column_group` adjacent ones, whose sums a lane holds in registers.
inline constexpr int warp_lanes = 32, row_vectors = 1, column_group = 8;
inline constexpr int team_warps = 8, team_threads = team_warps * warp_lanes;
inline constexpr bool has_teams = true;
#ifdef ATTOSCOPE_RECORDS
inline constexpr bool records_roundings = true;
#else
inline constexpr bool records_roundings = false;
#endif

template <class T>
struct Lanes {
  using V = T;
  static constexpr int width = 1, vectors = row_vectors, rows = row_vectors;
};

#ifdef __CUDA_ARCH__
/// The shared memory of a team's threads.
ATTOSCOPE_HOST_DEVICE_INLINE char* shared_memory() {
  extern __shared__ double2 team_memory[];
  return reinterpret_cast<char*>(team_memory);
}
#endif

/// Pointers into one memory space of a GPU: loads and stores then use instructions for that space.
struct GlobalMemory {
  template <class X>
  using Pointer = X*;
  template <class X>
  ATTOSCOPE_HOST_DEVICE_INLINE static X* at(X* x) {
#ifdef __CUDA_ARCH__
    __builtin_assume(__isGlobal(x));
#endif
    return x;
  }
  /// Loads *x by an instruction that the compiler does not move.
  template <class X>
  ATTOSCOPE_HOST_DEVICE_INLINE static X loaded(const X* x) {
#ifdef __CUDA_ARCH__
    const std::size_t address = __cvta_generic_to_global(x);
    X value;
    if constexpr (sizeof(X) == 8) {
      asm volatile("ld.global.f64 %0, [%1];" : "=d"(value) : "l"(address) : "memory");
    } else {
      asm volatile("ld.global.f32 %0, [%1];" : "=f"(value) : "l"(address) : "memory");
    }
    return value;
#else
    return *x;
#endif
  }
};
/// Marks x as a pointer into global memory: loads and stores through it use global-memory instructions.
template <class X>
ATTOSCOPE_HOST_DEVICE_INLINE X* in_global(X* x) {
  return GlobalMemory::at(x);
}
#ifdef __CUDA_ARCH__
struct SharedMemory {
  template <class X>
  class Pointer {
   public:
    Pointer() = default;
    __device__ __forceinline__ Pointer(X* x)
        : offset_(static_cast<std::uint32_t>(reinterpret_cast<const char*>(x) - shared_memory())) {}
    __device__ __forceinline__ X* get() const { return reinterpret_cast<X*>(shared_memory() + offset_); }
    __device__ __forceinline__ Pointer operator+(std::ptrdiff_t i) const {
      Pointer p = *this;
      p.offset_ += static_cast<std::uint32_t>(i * static_cast<std::ptrdiff_t>(sizeof(X)));
      return p;
    }

   private:
    std::uint32_t offset_ = 0;  ///< bytes
  };
  template <class X>
  __device__ __forceinline__ static X* at(Pointer<X> x) {
    return x.get();
  }
  template <class X>
  __device__ __forceinline__ static X loaded(Pointer<X> x) {
    return *x.get();
  }
};
#else
struct SharedMemory : GlobalMemory {};  // a distinct type
#endif

/// Interleaved arrays, one element per lane: a warp reads contiguous memory.
inline constexpr int lane_stride = warp_lanes;
template <class X, class Memory>
class LanesIn {
 public:
  LanesIn() = default;
  ATTOSCOPE_HOST_DEVICE_INLINE explicit LanesIn(X* first) : first_(first) {}
  template <class Y>
    requires(std::is_same_v<X, const Y>)
  ATTOSCOPE_HOST_DEVICE_INLINE LanesIn(const LanesIn<Y, Memory>& y) : first_(y.get()) {}

  ATTOSCOPE_HOST_DEVICE_INLINE X& operator[](std::ptrdiff_t i) const { return *Memory::at(first_ + i * lane_stride); }
  ATTOSCOPE_HOST_DEVICE_INLINE X& operator*() const { return *get(); }
  /// Element i, like [i], but the compiler moves no load across it.
  ATTOSCOPE_HOST_DEVICE_INLINE std::remove_const_t<X> value(std::ptrdiff_t i) const {
    return Memory::loaded(first_ + i * lane_stride);
  }
  ATTOSCOPE_HOST_DEVICE_INLINE LanesIn operator+(std::ptrdiff_t i) const {
    LanesIn x = *this;
    return x += i;
  }
  ATTOSCOPE_HOST_DEVICE_INLINE LanesIn& operator+=(std::ptrdiff_t i) {
    first_ = first_ + i * lane_stride;
    return *this;
  }
  ATTOSCOPE_HOST_DEVICE_INLINE explicit operator bool() const { return first_ != nullptr; }
  ATTOSCOPE_HOST_DEVICE_INLINE X* get() const { return Memory::at(first_); }

 private:
  typename Memory::template Pointer<X> first_{};
};
template <class X>
using LaneArray = LanesIn<X, GlobalMemory>;
/// LaneArray in shared memory: S of some keys.
template <class X>
using TileArray = LanesIn<X, SharedMemory>;
template <class X, class Memory>
ATTOSCOPE_HOST_DEVICE_INLINE X* first_of(LanesIn<X, Memory> x) {
  return x.get();
}
template <class T, class Memory>
ATTOSCOPE_HOST_DEVICE_INLINE LanesIn<T, Memory> as_vectors(LanesIn<T, Memory> x) {
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

/// x (below 2^31) cut towards 0 to an integer.
ATTOSCOPE_HOST_DEVICE_INLINE std::int32_t truncated(float x) { return static_cast<std::int32_t>(x); }
/// x rounded towards 0 to a float.
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

#ifdef __CUDA_ARCH__

/// The lanes that work together: the team of the calling thread. Every lane makes every call, in the same order.
struct LaneGroup {
  __device__ __forceinline__ int lane() const { return static_cast<int>(threadIdx.x) % warp_lanes; }
  __device__ __forceinline__ int warp() const { return static_cast<int>(threadIdx.x) / warp_lanes; }
  __device__ __forceinline__ int warps() const { return static_cast<int>(blockDim.x) / warp_lanes; }
  __device__ __forceinline__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ int threads() const { return static_cast<int>(blockDim.x); }
  __device__ __forceinline__ void sync() const { __syncthreads(); }
  __device__ __forceinline__ bool all(bool x) const { return __syncthreads_and(x) != 0; }
  /// Least x of the warp's lanes. Equal in all warps of a team if all warps have the same x.
  __device__ __forceinline__ int least(int x) const {
    for (int distance = warp_lanes / 2; distance > 0; distance /= 2) {
      const int other = __shfl_xor_sync(0xffffffffu, x, distance);
      x = other < x ? other : x;
    }
    return x;
  }
  __device__ __forceinline__ char* shared() const { return shared_memory(); }
#else

/// Barrier of a team's lanes on the host.
struct TeamBarrier {
  virtual ~TeamBarrier() = default;
  /// Waits until every thread has called it; returns the least x.
  virtual int least(int thread, int x) = 0;
};

/// Team of a thread on the host; without a barrier the thread is alone.
struct LaneGroup {
  TeamBarrier* barrier = nullptr;
  int lane_ = 0, warp_ = 0, warps_ = 1;
  void* shared_ = nullptr;  ///< the team's memory; null while sizes are counted

  int lane() const { return lane_; }
  int warp() const { return warp_; }
  int warps() const { return warps_; }
  int thread() const { return barrier ? warp_ * warp_lanes + lane_ : 0; }
  int threads() const { return barrier ? warps_ * warp_lanes : 1; }
  int least(int x) const { return barrier ? barrier->least(thread(), x) : x; }
  bool all(bool x) const { return least(x ? 1 : 0) == 1; }
  void sync() const { least(0); }
  char* shared() const { return static_cast<char*>(shared_); }
#endif

  ATTOSCOPE_HOST_DEVICE_INLINE int greatest(int x) const { return -least(-x); }
  /// True in the one warp that does single-warp work, for example a row's sums.
  ATTOSCOPE_HOST_DEVICE_INLINE bool leads() const { return warp() == 0; }
  /// Calls f(first, end) for this warp's share of 0 .. count keys or columns, at most column_group at a time.
  template <class F>
  ATTOSCOPE_HOST_DEVICE_INLINE void each_own(int count, F f) const {
    for (int first = warp() * column_group; first < count; first += warps() * column_group)
      f(first, count - first < column_group ? count : first + column_group);
  }
};

/// Shared memory for copies of operands: two slabs; one is read while the other is filled.
inline constexpr int slab_bytes = 8192, slab_count = 2, staged_bytes = slab_count * slab_bytes;

/// Hands out a thread's arrays from its team's memory.
class LaneArena {
 public:
  /// Counts the memory of a team of `warps` warps.
  ATTOSCOPE_HOST_DEVICE_INLINE LaneArena(int warps, std::size_t tile_room)
      : warps_(static_cast<std::size_t>(warps)), tile_room_(tile_room) {}
  /// `tile_room`: bytes of shared memory in addition to the slabs.
  ATTOSCOPE_HOST_DEVICE_INLINE LaneArena(void* memory, const LaneGroup& group, std::size_t tile_room = 0)
      : memory_(static_cast<char*>(memory)),
        shared_(group.shared()),
        lane_(group.lane()),
        warp_(static_cast<std::size_t>(group.warp())),
        warps_(static_cast<std::size_t>(group.warps())),
        tile_room_(tile_room) {}

  /// `count` numbers for each of the team's rows, shared by all its warps.
  template <class X>
  ATTOSCOPE_HOST_DEVICE_INLINE LaneArray<X> take(std::size_t count) {
    const LaneArray<X> array(memory_ ? reinterpret_cast<X*>(memory_ + used_) + lane_ : nullptr);
    used_ += bytes<X>(count);
    return array;
  }
  /// `count` numbers per row and warp, for values that every warp computes itself.
  template <class X>
  ATTOSCOPE_HOST_DEVICE_INLINE LaneArray<X> take_own(std::size_t count) {
    const LaneArray<X> array(memory_ ? reinterpret_cast<X*>(memory_ + used_ + warp_ * bytes<X>(count)) + lane_ : nullptr);
    used_ += warps_ * bytes<X>(count);
    return array;
  }
  /// `count` numbers of each row in shared memory.
  template <class X>
  ATTOSCOPE_HOST_DEVICE_INLINE TileArray<X> take_tile(std::size_t count) {
    const TileArray<X> array(memory_ ? reinterpret_cast<X*>(shared_ + staged_bytes + tile_used_) + lane_ : nullptr);
    tile_used_ += bytes<X>(count);
    return array;
  }
  /// True if `count` numbers per row fit into shared memory.
  template <class X>
  ATTOSCOPE_HOST_DEVICE_INLINE bool has_room_for(std::size_t count) const {
    return tile_used_ + bytes<X>(count) <= tile_room_;
  }

  /// Bytes of the team's scratch, and of its shared memory including the slabs.
  ATTOSCOPE_HOST_DEVICE_INLINE std::size_t used() const { return used_; }
  ATTOSCOPE_HOST_DEVICE_INLINE std::size_t shared() const { return staged_bytes + tile_used_; }

 private:
  template <class X>
  ATTOSCOPE_HOST_DEVICE_INLINE static std::size_t bytes(std::size_t count) {
    return (count * warp_lanes * sizeof(X) + 127) / 128 * 128;
  }

  char *memory_ = nullptr, *shared_ = nullptr;
  int lane_ = 0;
  std::size_t warp_ = 0, warps_, tile_room_;
  std::size_t used_ = 0, tile_used_ = 0;
};

/// Key of stochastic rounding's random bits: the seed and the lane's rows of Q. `columns_first` swaps the row and i of the key,
/// for products whose lanes are columns.
template <class T>
struct RandomBits {
  std::uint64_t seed = 0;
  LaneArray<const T> rows{};
  bool columns_first = false;
#ifdef ATTOSCOPE_RECORDS
  RoundingLog* log = nullptr;
#endif
};

/// The expensive kinds of rounding, not inlined: one copy of the code.
template <class T>
ATTOSCOPE_HOST_DEVICE_NOINLINE T rounded_at_length(const RounderPlan<T>& p, T x, Step step, RandomBits<T> random,
                                                   RoundingKey at) {
  if (p.kind != RounderKind::stochastic) return round(p.format, x);
  const int row = static_cast<int>(random.rows[at.r]), first = random.columns_first ? at.i : row,
            second = random.columns_first ? row : at.i;
  return round_stochastic(p.format, x, random_bits(random.seed, step, first, second, at.k));
}

/// Any kind of rounding, chosen at run time: copies of every loop for every kind would be too much code.
template <class T>
struct GeneralRounder {
  enum class Way : std::int32_t { none, bits, magic, at_length };

  const RounderPlan<T>& plan;
  Way way;  ///< by value: the compiler must assume that a call can change `plan`
  BitsRounder<T> bits;
  MagicRounder<T> magic;
  Step step;
  RandomBits<T> random;
  ATTOSCOPE_HOST_DEVICE_INLINE GeneralRounder(const RounderPlan<T>& p, Step s, const RandomBits<T>& d)
      : plan(p), way(way_of(p.kind)), bits(p), magic(p), step(s), random(d) {}

  ATTOSCOPE_HOST_DEVICE_INLINE T operator()(T x, RoundingKey at = {}) const {
    switch (way) {
      case Way::none:
        return x;
      case Way::bits:
        return bits(x);
      case Way::magic:
        return magic(x);
      case Way::at_length:
        break;
    }
    return rounded_at_length(plan, x, step, random, at);
  }

 private:
  ATTOSCOPE_HOST_DEVICE_INLINE static Way way_of(RounderKind kind) {
    switch (kind) {
      case RounderKind::none:
        return Way::none;
      case RounderKind::bits:
        return Way::bits;
      case RounderKind::half:
      case RounderKind::magic:
        return Way::magic;
      case RounderKind::slow:
      case RounderKind::stochastic:
        break;
    }
    return Way::at_length;
  }
};

#ifdef ATTOSCOPE_RECORDS

/// Rounds, and logs the number before and after rounding.
template <class T>
struct RecordingRounder {
  GeneralRounder<T> rounder;

  T operator()(T x, RoundingKey at = {}) const { return recorded(x, at, false); }
  T operator()(T x, ColumnRoundingKey at) const { return recorded(x, at, true); }

 private:
  T recorded(T x, RoundingKey at, bool of_column) const {
    const T y = rounder(x, at);
    rounder.random.log->roundings.push_back(
        {rounder.step, at.i, at.k, of_column, static_cast<double>(x), static_cast<double>(y)});
    return y;
  }
};
template <class T, class Use>
void with_rounder(const RounderPlan<T>& p, Step step, const RandomBits<T>& random, Use&& use) {
  use(RecordingRounder<T>{GeneralRounder<T>(p, step, random)});
}

#else

/// Calls `use` with a rounder for the plan.
template <class T, class Use>
ATTOSCOPE_HOST_DEVICE_INLINE void with_rounder(const RounderPlan<T>& p, Step step, const RandomBits<T>& random, Use&& use) {
  if (p.rounds()) {
    use(GeneralRounder<T>(p, step, random));
  } else {
    use(NoRounder{});
  }
}

#endif

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
