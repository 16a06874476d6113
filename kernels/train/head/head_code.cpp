/// Attention of a head in training, compiled once for each instruction set with that set's flags.
#include "kernels/train/head/head_code.h"

#include <cmath>
#include <vector>

#include "kernels/cpu/simulate.h"
#include "kernels/train/head/head_statistics_lanes.h"

#ifdef ATTOSCOPE_SIMT
#include "kernels/lanes/team.h"
#endif

namespace attoscope {
namespace ATTOSCOPE_ISA {
namespace {

/// One head's own matrices and the memory of its lanes.
template <class T>
struct HeadScratch {
  HeadScratch(const HeadRule<T>& rule, void* memory) : arena(memory) {
    const std::size_t n = static_cast<std::size_t>(rule.job.n), d = static_cast<std::size_t>(rule.job.d);
    for (T** matrix : {&q, &k, &v, &d_o}) *matrix = arena.take<T>(n * d + group_width<T>);
    out = arena.take<double>(n * d);
    rows = arena.take<int>(n);
    lanes = arena.take<char>(0);
  }

  Arena arena;
  T *q, *k, *v, *d_o;
  double* out;
  int* rows;
  char* lanes;
};

/// Q, K and V of a head, rounded by the input step; K and V from the last key to the first if `reversed`.
template <class T>
void gather_inputs(const HeadBatch<T>& batch, int place, bool reversed, const HeadScratch<T>& to) {
  const Job<T>& job = batch.rules[place % batch.heads].job;
  const std::int64_t offset = offset_of(batch, place);
  const std::uint64_t seed = head_seed(batch.rounding_seed, place);
  const T* const from[3] = {batch.q, batch.k, batch.v};
  T* const into[3] = {to.q, to.k, to.v};
  for (int lane = 0; lane < group_size; ++lane)
    for (int i = 0; i < 3; ++i)
      gather({from[i] + offset, batch.row_stride}, job.n, job.d, job[Step::input], seed, i, reversed && i > 0, lane, into[i]);
}

/// The job of one head: `scratch` holds its inputs.
template <class T>
Job<T> job_of(const HeadBatch<T>& batch, int place, const HeadScratch<T>& scratch) {
  Job<T> job = batch.rules[place % batch.heads].job;
  job.q = scratch.q;
  job.k = scratch.k;
  job.v = scratch.v;
  job.seed = head_seed(batch.rounding_seed, place);
  if (!job[Step::qk_step].can_be_short && !job[Step::pv_step].can_be_short) return job;
  const std::size_t count = static_cast<std::size_t>(job.n) * static_cast<std::size_t>(job.d);
  const int bits = job[Step::input].mantissa_bits();
  job.ranges.q = range_of(std::span(job.q, count), bits, {});
  job.ranges.k = range_of(std::span(job.k, count), bits, {});
  job.ranges.v = range_of(std::span(job.v, count), bits, {});
  return job;
}

/// The output of the rows in `block`, as doubles.
template <class T>
void attend(const Job<T>& job, const RowBlock& block, const HeadObserver<T>& observer, char* memory, double* out) {
#ifdef ATTOSCOPE_SIMT
  const TeamNeeds needs = attention_needs<HeadObserver<T>>(job, 1, head_tile_room);
  for (int lane = 0; lane < block.count; ++lane) {
    const LaneGroup group{.lane_ = lane, .shared_ = memory + needs.scratch_bytes};
    attention_thread(job, RowSlice{block.rows, block.count, block.first}, 0, group, observer, {memory, head_tile_room}, out);
  }
#else
  Arena arena(memory);
  AttentionBlock<T, HeadObserver<T>>(job, block, LaneGroup{}, observer, arena).run(out);
#endif
}

/// The output of all rows, as doubles; `rows` is filled with their numbers.
template <class T>
void attend_all(const Job<T>& job, int* rows, const HeadObserver<T>& observer, char* memory, double* out) {
  constexpr int height = Lanes<T>::rows * group_size;
  for (int row = 0; row < job.n; ++row) rows[row] = row;
  for (int row = 0; row < job.n; row += height)
    attend(job, {rows + row, std::min(height, job.n - row), row}, observer, memory,
           out + static_cast<std::ptrdiff_t>(row) * job.d);
}

template <class T>
void forward(const HeadBatch<T>& batch, int place, void* memory) {
  const HeadRule<T>& rule = batch.rules[place % batch.heads];
  const HeadScratch<T> scratch(rule, memory);
  gather_inputs(batch, place, rule.job.reversed, scratch);
  const std::int64_t state = static_cast<std::int64_t>(place) * batch.context;
  attend_all(job_of(batch, place, scratch), scratch.rows, {batch.m + state, batch.l + state}, scratch.lanes, scratch.out);
  T* o = batch.o + offset_of(batch, place);
  for (int row = 0; row < batch.context; ++row)
    for (int c = 0; c < batch.d; ++c) o[row * batch.row_stride + c] = static_cast<T>(scratch.out[row * batch.d + c]);
}

/// One lane of the group that computes a head.
template <class Block>
struct Member {
  template <class T>
  Member(const HeadRule<T>& rule, const HeadMatrices<T>& head, int lane, const LaneGroup& group, void* memory)
#ifdef ATTOSCOPE_SIMT
      : arena(memory, group),
#else
      : arena(memory),
#endif
        block(rule, head, lane, group, arena) {
  }
  LaneArena arena;
  Block block;
};

/// The lanes of a head's group; `stage` has the bytes that they share.
template <class Block, class T>
std::vector<Member<Block>> group_of(const HeadRule<T>& rule, const HeadMatrices<T>& head, [[maybe_unused]] char* stage,
                                    void* memory) {
  std::vector<Member<Block>> group;
  group.reserve(group_size);
#ifdef ATTOSCOPE_SIMT
  for (int lane = 0; lane < group_size; ++lane)
    group.emplace_back(rule, head, lane, LaneGroup{.lane_ = lane, .shared_ = stage}, memory);
#else
  group.emplace_back(rule, head, 0, LaneGroup{}, memory);
#endif
  return group;
}

#ifdef ATTOSCOPE_SIMT
struct Stage {
  alignas(16) char bytes[row_stage_bytes];
};
#else
struct Stage {
  char bytes[1];
};
#endif

/// An array from element `first` on; a null array stays null.
template <class T>
T* from(T* array, std::int64_t first) {
  return array == nullptr ? nullptr : array + first;
}

/// A head's matrices, with the gathered ones in place of those that are read.
template <class T>
HeadMatrices<T> matrices_of(const HeadGradient<T>& gradient, int place, const HeadScratch<T>& scratch) {
  const HeadBatch<T>& batch = gradient.forward;
  const std::int64_t offset = offset_of(batch, place), state = static_cast<std::int64_t>(place) * batch.context;
  gather_inputs(batch, place, false, scratch);
  for (int lane = 0; lane < group_size; ++lane)
    gather({gradient.d_o + offset, batch.row_stride}, batch.context, batch.d, RounderPlan<T>{}, 0, 0, false, lane, scratch.d_o);
  return {.q = scratch.q,
          .k = scratch.k,
          .v = scratch.v,
          .d_o = scratch.d_o,
          .m = from(batch.m, state),
          .l = from(batch.l, state),
          .o = from(batch.o, offset),
          .d_q = from(gradient.d_q, offset),
          .d_k = from(gradient.d_k, offset),
          .d_v = from(gradient.d_v, offset),
          .row_stride = batch.row_stride,
          .seed = head_seed(batch.rounding_seed, place)};
}

template <class T>
void backward(const HeadGradient<T>& gradient, int place, void* memory) {
  const HeadRule<T>& rule = gradient.forward.rules[place % gradient.forward.heads];
  const HeadScratch<T> scratch(rule, memory);
  const HeadMatrices<T> head = matrices_of(gradient, place, scratch);
  Stage stage;
  auto group = group_of<HeadGradientBlock<T>>(rule, head, stage.bytes, scratch.lanes);
  for (auto& member : group) member.block.begin();
  for (int block = 0; block < group[0].block.blocks(); ++block) {
    for (auto& member : group) member.block.rows(block);
    for (auto& member : group) member.block.columns(block);
  }
  for (auto& member : group) member.block.end();
}

template <class T>
std::size_t attention_bytes(const Job<T>& job) {
#ifdef ATTOSCOPE_SIMT
  const TeamNeeds needs = attention_needs<HeadObserver<T>>(job, 1, head_tile_room);
  return needs.scratch_bytes + needs.shared_bytes;
#else
  LaneArena arena(nullptr);
  AttentionBlock<T, HeadObserver<T>> block(job, RowBlock{}, LaneGroup{}, HeadObserver<T>{}, arena);
  return arena.used();
#endif
}

/// Bytes of scratch for the forward pass, and for a pass of Block.
template <class Block, class T>
std::size_t scratch_of(const HeadRule<T>& rule) {
  const Member<Block> member(rule, HeadMatrices<T>{}, 0, LaneGroup{}, nullptr);
  return HeadScratch<T>(rule, nullptr).arena.used() + std::max(attention_bytes(rule.job), member.arena.used());
}

// --- statistics -------------------------------------------------------------------------------------------------------

/// 64-byte aligned memory.
struct alignas(64) Line {
  char bytes[64];
};
std::vector<Line> lines(std::size_t bytes) { return std::vector<Line>((bytes + 63) / 64); }

/// O of the head without rounding, from the inputs in `scratch`.
std::vector<double> exact_output(const Job<double>& truth, const HeadScratch<float>& scratch) {
  const std::size_t rows = static_cast<std::size_t>(truth.n), count = rows * static_cast<std::size_t>(truth.d);
  const std::vector<double> q(scratch.q, scratch.q + count), k(scratch.k, scratch.k + count), v(scratch.v, scratch.v + count);
  std::vector<double> m(rows), l(rows), out(count);
  std::vector<Line> memory = lines(attention_bytes(truth));
  Job<double> job = truth;
  job.q = q.data();
  job.k = k.data();
  job.v = v.data();
  attend_all(job, scratch.rows, {m.data(), l.data()}, memory.data()->bytes, out.data());
  return out;
}

HeadStatistics head_statistics(const HeadGradient<float>& gradient, int place, const Job<double>& truth) {
  const HeadRule<float>& rule = gradient.forward.rules[place % gradient.forward.heads];
  std::vector<Line> memory = lines(scratch_of<HeadStatisticsBlock<float>>(rule));
  const HeadScratch<float> scratch(rule, memory.data());
  const HeadMatrices<float> head = matrices_of(gradient, place, scratch);
  Stage stage;
  auto group = group_of<HeadStatisticsBlock<float>>(rule, head, stage.bytes, scratch.lanes);
  HeadStatistics counted;
  const int n = rule.job.n, d = rule.job.d;
  std::vector<float> delta(static_cast<std::size_t>(n));
  for (int block = 0; block < group[0].block.blocks(); ++block)
    for (auto& member : group) member.block.count(block, counted, delta.data());
  const std::vector<double> o = exact_output(truth, scratch);
  for (int row = 0; row < n; ++row) {
    double exact_delta = 0;
    for (int i = row * d; i < row * d + d; ++i)
      exact_delta += static_cast<double>(scratch.d_o[i]) * o[static_cast<std::size_t>(i)];
    counted.delta_error += static_cast<double>(delta[static_cast<std::size_t>(row)]) - exact_delta;
    counted.delta_size += std::fabs(exact_delta);
  }
  return counted;
}

}  // namespace

HeadCode head_code() {
  return {{scratch_of<HeadGradientBlock<float>, float>, forward<float>, backward<float>},
          {scratch_of<HeadGradientBlock<double>, double>, forward<double>, backward<double>},
          head_statistics};
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
