/// One instruction set's lane code, compiled once for each with that set's flags.
#include "kernels/attention_lanes.h"
#include "kernels/golden_lanes.h"
#include "kernels/instruction_sets.h"
#include "kernels/random.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {
namespace {

template <class T>
std::size_t attention_scratch(const Job<T>& job) {
  Arena arena(nullptr);
  AttentionBlock<T> block(job, RowBlock{}, nullptr, arena);
  return arena.used();
}

template <class T>
void run_attention(const Job<T>& job, const RowBlock& block, Recorder<T>* recorder, const StopSign& stop, void* scratch, double* out) {
  Arena arena(scratch);
  AttentionBlock<T>(job, block, recorder, arena).run(stop, out);
}

std::size_t dd_scratch(const Job<double>& job) {
  Arena arena(nullptr);
  DoubleDoubleBlock block(job, RowBlock{}, arena);
  return arena.used();
}

void run_dd(const Job<double>& job, const RowBlock& block, const StopSign& stop, void* scratch, double* out) {
  Arena arena(scratch);
  DoubleDoubleBlock(job, block, arena).run(stop, out);
}

using UInt64V = std::uint64_t __attribute__((vector_size(vector_bytes)));

/// Elements 2i and 2i + 1 come from counter i. The square root is IEEE's, the rest ours.
void normals(std::uint64_t seed, std::uint32_t stream, std::uint64_t first, std::int64_t count, double* out) {
  constexpr int W = Lanes<double>::width;
  for (std::int64_t i = 0; i < count; i += 2 * W) {
    UInt64V counter{};
    for (int lane = 0; lane < W; ++lane) counter[lane] = first / 2 + static_cast<std::uint64_t>(i / 2 + lane);
    const Philox<UInt64V> p = philox<UInt64V>(counter, counter >> 32, stream, seed);
    const DoubleV u = 1.0 - unit_interval<DoubleV>(p.x[0], p.x[1]);  // (0, 1]
    const SinCos<DoubleV> angle = sincos_turns(unit_interval<DoubleV>(p.x[2], p.x[3]));
    const DoubleV square = -2.0 * logarithm(u);
    for (int lane = 0; lane < W && i + 2 * lane < count; ++lane) {
      const double radius = __builtin_sqrt(square[lane] > 0 ? square[lane] : 0.0);
      out[i + 2 * lane] = radius * angle.cos[lane];
      if (i + 2 * lane + 1 < count) out[i + 2 * lane + 1] = radius * angle.sin[lane];
    }
  }
}

}  // namespace

#define ATTOSCOPE_TEXT_(x) #x
#define ATTOSCOPE_TEXT(x) ATTOSCOPE_TEXT_(x)

InstructionSet lane_code() {
  return {.name = ATTOSCOPE_TEXT(ATTOSCOPE_ISA),
          .float_rows = Lanes<float>::rows,
          .double_rows = Lanes<double>::rows,
          .dd_rows = DoubleDoubleBlock::rows,
          .float_scratch = attention_scratch<float>,
          .double_scratch = attention_scratch<double>,
          .dd_scratch = dd_scratch,
          .run_float = run_attention<float>,
          .run_double = run_attention<double>,
          .run_dd = run_dd,
          .normals = normals};
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
