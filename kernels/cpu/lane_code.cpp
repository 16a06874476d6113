/// Lane code of one instruction set; compiled once per instruction set, with its flags.
#include <algorithm>
#include <chrono>

#include "kernels/arithmetic/random.h"
#include "kernels/lanes/attention_lanes.h"
#include "kernels/lanes/deviation_lanes.h"
#include "kernels/lanes/golden_lanes.h"

#ifdef ATTOSCOPE_SIMT
#include "kernels/lanes/team.h"
#endif

namespace attoscope {
namespace ATTOSCOPE_ISA {
namespace {

using CpuDoubleDouble = DoubleDoubleBlock<CpuObserver<double>>;

#ifdef ATTOSCOPE_SIMT

/// A block is a team of one warp whose lanes run one after another, each as if alone.
inline constexpr int group_lanes = warp_lanes;

template <class T>
void run_attention(const Job<T>& job, const RowBlock& block, const CpuObserver<T>& observer, void* scratch, double* out) {
  const TeamNeeds needs = attention_needs(job, 1, 0, observer);
  for (int lane = 0; lane < block.count; ++lane) {
    const LaneGroup group{.lane_ = lane, .shared_ = static_cast<char*>(scratch) + needs.scratch_bytes};
    attention_thread(job, block, 0, group, observer, {scratch, 0}, out);
  }
}

template <class T>
std::size_t attention_scratch(const Job<T>& job) {
  const StopSign never;
  const TeamNeeds needs = attention_needs(job, 1, 0, CpuObserver<T>{nullptr, never});
  return needs.scratch_bytes + needs.shared_bytes;
}

template <class T>
constexpr void (*products_of_row)(const Job<T>&, int, Keys, T*) = nullptr;

void run_dd(const Job<double>& job, const RowBlock& block, const StopSign& stop, void* scratch, double* out) {
  const CpuObserver<double> observer{nullptr, stop};
  for (int lane = 0; lane < block.count; ++lane) dd_thread(job, block, 0, LaneGroup{.lane_ = lane}, observer, scratch, out);
}

std::size_t dd_scratch(const Job<double>& job) { return dd_needs(job).scratch_bytes; }

#else

inline constexpr int group_lanes = 1;

template <class T>
void run_attention(const Job<T>& job, const RowBlock& block, const CpuObserver<T>& observer, void* scratch, double* out) {
  Arena arena(scratch);
  AttentionBlock<T, CpuObserver<T>>(job, block, LaneGroup{block.count}, observer, arena).run(out);
}

void run_dd(const Job<double>& job, const RowBlock& block, const StopSign& stop, void* scratch, double* out) {
  Arena arena(scratch);
  CpuDoubleDouble(job, block, {nullptr, stop}, arena).run(out);
}

template <class T>
std::size_t attention_scratch(const Job<T>& job) {
  LaneArena arena(nullptr);
  const StopSign never;
  AttentionBlock<T, CpuObserver<T>> block(job, RowBlock{}, LaneGroup{}, {nullptr, never}, arena);
  return arena.used();
}

std::size_t dd_scratch(const Job<double>& job) {
  LaneArena arena(nullptr);
  const StopSign never;
  CpuDoubleDouble block(job, RowBlock{}, {nullptr, never}, arena);
  return arena.used();
}

#endif

/// Prevents the compiler from assuming the values of x.
template <class V>
void keep_unknown(V& x) {
#ifdef __wasm__  // its assembly has no vector operands
  asm volatile("" : : "r"(&x) : "memory");
#else
  asm volatile("" : "+v"(x));
#endif
}

/// Measures independent chains of fma; 24 chains hide the latency on every machine.
template <class T>
double fma_rate(double seconds) {
  using V = typename Lanes<T>::V;
  constexpr int chains = sizeof(V) == 64 ? 24 : 10;
  V x[chains];
#pragma GCC unroll 24
  for (int i = 0; i < chains; ++i) x[i] = splat<V>(T(1) / T(i + 3));
  V a = splat<V>(T(0.999)), b = splat<V>(T(0.001));
  const auto start = std::chrono::steady_clock::now();
  double steps = 0, elapsed = 0;
  while (elapsed < seconds) {
    for (int step = 0; step < 20000; ++step) {
      keep_unknown(a);
      keep_unknown(b);
#pragma GCC unroll 24
      for (int i = 0; i < chains; ++i) {
#if defined(__FMA__)
        x[i] = fused(x[i], a, b);
#else  // the closest that this instruction set has
        x[i] = x[i] * a + b;
#endif
      }
    }
    steps += 20000;
    elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
#pragma GCC unroll 24
  for (int i = 0; i < chains; ++i) keep_unknown(x[i]);
  return steps * chains * 2 * Lanes<T>::width / elapsed;
}

/// Loads one double per lane, rounded to the lane's type.
inline void load_narrowed(const double* x, DoubleV& v) { v = loaded<DoubleV>(x); }
inline void load_narrowed(const double* x, FloatV& v) {
#ifdef ATTOSCOPE_SIMT
  v = static_cast<float>(*x);
#else
  using Wide = double __attribute__((vector_size(2 * sizeof(FloatV))));
  Wide wide;
  __builtin_memcpy(&wide, x, sizeof wide);
  v = __builtin_convertvector(wide, FloatV);
#endif
}

/// Rounds x to T by the plan, which must not be stochastic.
template <class T>
void round_values(const double* x, std::int64_t count, const RounderPlan<T>& plan, T* out) {
  using V = typename Lanes<T>::V;
  constexpr int width = Lanes<T>::width;
  with_rounder(plan, Step::input, RandomBits<T>{}, [&](auto rounder) {
    V v{};
    std::int64_t i = 0;
    for (; i + width <= count; i += width) {
      load_narrowed(x + i, v);
      v = rounder(v);
      __builtin_memcpy(out + i, &v, sizeof v);
    }
    double rest[width] = {};
    const auto left = static_cast<std::size_t>(count - i);
    std::copy_n(x + i, left, rest);
    load_narrowed(rest, v);
    v = rounder(v);
    for (std::size_t lane = 0; lane < left; ++lane)
      out[i + static_cast<std::int64_t>(lane)] = lane_of(v, static_cast<int>(lane));
  });
}

DeviationSums deviation(const double* x, const double* y, int count, const DeviationRule& rule) {
  DeviationSums whole = DeviationChunk(rule).sums(x, y, count);
  for (int chain = metered_chains; chain < DeviationSums::chains; chain += metered_chains)
    join(whole, DeviationChunk(rule, chain).sums(x, y, count));
  return whole;
}

void exponentials(const float* x, std::int64_t count, float* y) {
  constexpr int width = Lanes<float>::width;
  for (std::int64_t i = 0; i + width <= count; i += width) {
    FloatV v;
    __builtin_memcpy(&v, x + i, sizeof v);
    v = exponential(v);
    __builtin_memcpy(y + i, &v, sizeof v);
  }
}

/// Stores pairs (x, y) of lanes in order, at most `count` numbers.
inline void store_pairs(DoubleV x, DoubleV y, std::int64_t count, double* out) {
  for (int lane = 0; lane < Lanes<double>::width && 2 * lane < count; ++lane) {
    out[2 * lane] = lane_of(x, lane);
    if (2 * lane + 1 < count) out[2 * lane + 1] = lane_of(y, lane);
  }
}

inline DoubleV square_root(DoubleV x) {
  for (int lane = 0; lane < Lanes<double>::width; ++lane) set_lane(x, lane, __builtin_sqrt(lane_of(x, lane)));
  return x;
}

/// Elements 2i and 2i + 1 come from counter i. The square root is IEEE 754's, all else is from exponential.h. Several vectors
/// go through each stage together; a single one would wait for every operation.
void normals(std::uint64_t seed, std::uint32_t stream, std::uint64_t first, std::int64_t count, double* out) {
  constexpr int W = Lanes<double>::width, at_once = Lane<DoubleV>::emulates_fma ? 2 : 1, groups = 8 / at_once;
  for (std::int64_t begin = 0; begin < count; begin += 2 * W * at_once * groups) {
    Several<DoubleV, at_once> u[groups], turns[groups];
    UInt64V counter{};
    for (int lane = 0; lane < W; ++lane)
      set_lane(counter, lane, (first + static_cast<std::uint64_t>(begin)) / 2 + static_cast<std::uint64_t>(lane));
    for (int g = 0; g < groups; ++g)
      for (int i = 0; i < at_once; ++i, counter += std::uint64_t{W}) {
        const Philox<UInt64V> p = philox<UInt64V>(counter, counter >> 32, stream, seed);
        u[g].x[i] = 1.0 - unit_interval<DoubleV>(p.x[0], p.x[1]);  // (0, 1]
        turns[g].x[i] = unit_interval<DoubleV>(p.x[2], p.x[3]);
      }
    for (auto& some : u) {
      some = logarithm_of_normal(some);
      for (DoubleV& x : some.x) x = -2.0 * x > 0.0 ? -2.0 * x : DoubleV{};
    }
    std::int64_t at = begin;
    for (int g = 0; g < groups && at < count; ++g) {
      const auto angles = sincos_turns(turns[g]);
      for (int i = 0; i < at_once && at < count; ++i, at += 2 * W) {
        const DoubleV radius = square_root(u[g].x[i]);
        store_pairs(radius * angles.x[i].cos, radius * angles.x[i].sin, count - at, out + at);
      }
    }
  }
}

template <class T>
LaneCode<T> lane_code_in() {
  return {group_lanes * Lanes<T>::rows, attention_scratch<T>, run_attention<T>,
          products_of_row<T>,           round_values<T>,      fma_rate<T>};
}

}  // namespace

#define ATTOSCOPE_TEXT_(x) #x
#define ATTOSCOPE_TEXT(x) ATTOSCOPE_TEXT_(x)

InstructionSet lane_code() {
  return {.name = ATTOSCOPE_TEXT(ATTOSCOPE_ISA),
          .emulates_fma = Lane<FloatV>::emulates_fma,
          .in_float = lane_code_in<float>(),
          .in_double = lane_code_in<double>(),
          .dd_rows = group_lanes * CpuDoubleDouble::rows,
          .dd_scratch = dd_scratch,
          .run_dd = run_dd,
          .normals = normals,
          .deviation = deviation,
          .moments = moments,
          .gaps = gaps,
          .magnitudes = magnitudes,
          .exponentials = exponentials};
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
