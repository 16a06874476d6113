#include <algorithm>
#include <cmath>
#include <concepts>
#include <type_traits>

#include "kernels/backward/backward_pass.h"
#include "kernels/cpu/simulate.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/lanes/arena.h"
#include "kernels/parallel/parallel.h"
#include "kernels/train/head/head.h"

namespace attoscope {
namespace {

/// One head's own matrices, and the memory of a thread's lanes.
template <class T>
struct HeadMemory {
  HeadMemory(int n, int d, int block_rows, void* memory) : arena(memory), width(padded_width<T>(d)) {
    const std::size_t padded = place(n, width), packed = place(n, d);
    for (T** x : {&q, &k, &v, &d_o, &dk_sums, &dv_sums}) *x = arena.take<T>(padded);
    for (T** x : {&queries, &keys}) *x = arena.take<T>(packed);
    for (T** x : {&p, &ds}) *x = arena.take<T>(place(n, block_rows));
    for (double** x : {&o, &d_q, &d_k, &d_v}) *x = arena.take<double>(packed);
    rows = arena.take<int>(at(n));
    column_numbers = arena.take<T>(at(width));
    lanes = arena.take<char>(0);
    for (int row = 0; memory != nullptr && row < n; ++row) rows[row] = row;
    for (int c = 0; memory != nullptr && c < width; ++c) column_numbers[c] = static_cast<T>(c);
  }

  Arena arena;
  int width = 0;
  T *q, *k, *v, *d_o, *dk_sums, *dv_sums;  ///< n x width
  T *queries, *keys;                       ///< n x d, as read by the forward pass
  T *p, *ds;                               ///< [key][lane], of a block
  double *o, *d_q, *d_k, *d_v;             ///< n x d
  int* rows;                               ///< 0, 1, ...
  T* column_numbers;
  char* lanes;
};

/// Copies n rows of d numbers; `reversed`: from the last to the first.
template <class X, class Y>
void copy_rows(const X* from, std::int64_t from_stride, int n, int d, Y* to, std::int64_t to_stride, bool reversed = false) {
  for (int row = 0; row < n; ++row) {
    const X* const x = from + row * from_stride;
    Y* const y = to + (reversed ? n - 1 - row : row) * to_stride;
    for (int c = 0; c < d; ++c) y[c] = static_cast<Y>(x[c]);
  }
}

/// The heads of a batch, computed by an instruction set's lanes.
template <class T>
class CpuHeads {
 public:
  CpuHeads(const HeadBatch<T>& batch, std::string_view isa)
      : batch_(batch),
        n_(batch.context),
        d_(batch.d),
        isa_(instruction_set(isa)),
        gradients_(lanes_of<T>(isa, false)),
        code_(head_code(isa_.name)) {}

  void forward() const {
    each_head([this](const HeadRule<T>& rule) { return isa_.in<T>().scratch(rule.job); },
              [this](int place, const HeadMemory<T>& x) {
                const bool reversed = rule_of(place).job.reversed;
                gather(batch_.q, place, 0, false, x.queries, d_);
                gather(batch_.k, place, 1, reversed, x.keys, d_);
                gather(batch_.v, place, 2, reversed, x.v, d_);
                const std::int64_t state = static_cast<std::int64_t>(place) * n_;
                attend(job_of(place, x), {nullptr, never_, nullptr, batch_.m + state, batch_.l + state}, x);
                copy_rows(x.o, d_, n_, d_, batch_.o + offset_of(batch_, place), batch_.row_stride);
              });
  }

  void backward(const HeadGradient<T>& gradient) const {
    each_head(
        [this](const HeadRule<T>& rule) { return gradients_.scratch(of_backward(rule, 0, {.width = padded_width<T>(d_)})); },
        [&](int place, const HeadMemory<T>& x) {
          differentiate(take(gradient, place, x), x);
          const std::int64_t offset = offset_of(batch_, place);
          for (const auto& [from, to] : {std::pair{x.d_q, gradient.d_q}, {x.d_k, gradient.d_k}, {x.d_v, gradient.d_v}})
            copy_rows(from, d_, n_, d_, to + offset, batch_.row_stride);
        });
  }

  /// Statistics of each place; the lanes count all but the errors of delta.
  std::vector<HeadStatistics> statistics(const HeadGradient<T>& gradient) const
    requires std::same_as<T, float>
  {
    std::vector<HeadStatistics> places(at(batch_.sequences * batch_.heads));
    const Job<double> golden = exact_job();
    each_head(
        [this](const HeadRule<T>& rule) {
          return code_.statistics_scratch(of_backward(rule, 0, {.width = padded_width<T>(d_)}));
        },
        [&](int place, const HeadMemory<T>& x) { places[at(place)] = count(take(gradient, place, x), x, golden); });
    return places;
  }

 private:
  const HeadRule<T>& rule_of(int place) const { return batch_.rules[place % batch_.heads]; }

  /// Calls work(place, memory) for every head of every sequence; lanes get the most bytes that `bytes_of` a rule returns.
  template <class Bytes, class Work>
  void each_head(Bytes bytes_of, Work work) const {
    std::size_t bytes = 0;
    for (int head = 0; head < batch_.heads; ++head) bytes = std::max(bytes, bytes_of(batch_.rules[head]));
    const auto memory_in = [&](void* memory) { return HeadMemory<T>(n_, d_, gradients_.rows, memory); };
    bytes += memory_in(nullptr).arena.used();
    parallel_for(0, batch_.sequences * batch_.heads, [&](int i) {
      thread_local AlignedBuffer scratch;  // kept: fresh pages cost more than a small head
      work(i, memory_in(scratch.at_least(bytes)));
    });
  }

  /// Copies a head's columns of `x`, rounded by the input step; `tensor` 0, 1, 2: Q, K, V, for the bits of stochastic rounding.
  void gather(const T* x, int place, int tensor, bool reversed, T* to, int stride) const {
    const RounderPlan<T>& plan = rule_of(place).job[Step::input];
    copy_rows(x + offset_of(batch_, place), batch_.row_stride, n_, d_, to, stride, reversed);
    if (plan.kind == RounderKind::stochastic) {
      const std::uint64_t seed = head_seed(batch_.rounding_seed, place);
      for (int row = 0; row < n_; ++row)
        for (int c = 0; c < d_; ++c) {
          T& y = to[attoscope::place(reversed ? n_ - 1 - row : row, stride) + at(c)];
          y = round_stochastic(plan.format, y, random_bits(seed, Step::input, row, c, tensor));
        }
    } else if (plan.rounds()) {
      const std::int64_t count = std::int64_t{n_} * stride;
      if constexpr (std::is_same_v<T, float>) {
        code_.rounded(to, count, plan, to);
      } else {
        isa_.in_double.rounded(to, count, plan, to);
      }
    }
  }

  // --- forward ----------------------------------------------------------------------------------------------------------

  Job<T> job_of(int place, const HeadMemory<T>& x) const {
    Job<T> job = rule_of(place).job;
    job.q = x.queries;
    job.k = x.keys;
    job.v = x.v;
    job.seed = head_seed(batch_.rounding_seed, place);
    find_ranges(job);
    return job;
  }
  void find_ranges(Job<T>& job) const {
    if (!job[Step::qk_step].can_be_short && !job[Step::pv_step].can_be_short) return;
    const std::size_t count = attoscope::place(n_, d_);
    const int bits = job[Step::input].mantissa_bits();
    job.ranges.q = range_of(std::span(job.q, count), bits, {});
    job.ranges.k = range_of(std::span(job.k, count), bits, {});
    if (job.v != nullptr) job.ranges.v = range_of(std::span(job.v, count), bits, {});
  }

  /// Computes the output of all rows into x.o.
  template <class X>
  void attend(const Job<X>& job, const CpuObserver<X>& observer, const HeadMemory<T>& x) const {
    const LaneCode<X>& code = isa_.in<X>();
    for (int row = 0; row < n_; row += code.rows)
      code.run(job, {x.rows + row, std::min(code.rows, n_ - row), row}, observer, x.lanes, x.o + attoscope::place(row, d_));
  }

  // --- backward ---------------------------------------------------------------------------------------------------------

  GradientRule<T> of_backward(const HeadRule<T>& rule, int place, const HeadArrays<T>& x) const {
    GradientRule<T> own = rule;
    take_head(own, batch_, place, x);
    return own;
  }

  /// The rule of a head's backward pass; copies its numbers into `x`.
  GradientRule<T> take(const HeadGradient<T>& gradient, int place, const HeadMemory<T>& x) const {
    const HeadRule<T>& rule = rule_of(place);
    const std::int64_t offset = offset_of(batch_, place), stride = batch_.row_stride;
    for (T* y : {x.q, x.k, x.v, x.d_o}) std::fill_n(y, x.width == d_ ? 0 : attoscope::place(n_, x.width), T{0});
    gather(batch_.q, place, 0, false, x.q, x.width);
    gather(batch_.k, place, 1, false, x.k, x.width);
    gather(batch_.v, place, 2, false, x.v, x.width);
    copy_rows(gradient.d_o + offset, stride, n_, d_, x.d_o, x.width);
    const T *queries = x.q, *stored = x.k;
    if (x.width != d_) {
      copy_rows(x.q, x.width, n_, d_, x.queries, d_);
      queries = x.queries;
    }
    if (x.width != d_ || rule.job.reversed) {
      copy_rows(x.k, x.width, n_, d_, x.keys, d_, rule.job.reversed);
      stored = x.keys;
    }
    if (rule.delta_from == DeltaFrom::output) copy_rows(batch_.o + offset, stride, n_, d_, x.o, d_);
    GradientRule<T> own = of_backward(rule, place, {queries, stored, x.q, x.k, x.v, x.d_o, x.width, x.o, x.column_numbers});
    find_ranges(own.job);
    return own;
  }

  /// Computes dQ, dK and dV of a head.
  void differentiate(const GradientRule<T>& rule, const HeadMemory<T>& x) const {
    for (T* sums : {x.dk_sums, x.dv_sums}) std::fill_n(sums, attoscope::place(n_, x.width), T{0});
    const int no_row = 0;
    KeysTask<T> keys{.first_rows = &no_row, .keys = {nullptr, n_}, .p = x.p, .ds = x.ds, .d_k = x.dk_sums, .d_v = x.dv_sums};
    for (int row = 0; row < n_; row += gradients_.rows) {
      const RowBlock block{x.rows + row, std::min(gradients_.rows, n_ - row), row};
      const RowsTask<T> rows{.block = block, .keys = keys.keys, .p = x.p, .ds = x.ds, .d_q = x.d_q, .places = block.rows};
      gradients_.rows_of_block(rule, rows, never_, x.lanes);
      gradients_.queries_of_block(rule, rows, never_, x.lanes);
      keys.blocks = &block;
      keys.block_count = 1;
      keys.end = row + block.count;
      gradients_.sums_of_keys(rule, keys, never_);
    }
    gradients_.finish_keys(rule, keys, x.d_k, x.d_v);
  }

  // --- statistics -------------------------------------------------------------------------------------------------------

  /// The job of exact attention of a head.
  Job<double> exact_job() const {
    Problem problem;
    problem.n = n_;
    problem.d = d_;
    problem.mask.kind = Mask::Kind::causal;
    return job(problem, Method{.algorithm = Algorithm::three_pass}, fp64, Operands<double>{});
  }

  HeadStatistics count(const GradientRule<T>& rule, const HeadMemory<T>& x, Job<double> golden) const {
    HeadStatistics counted;
    std::vector<double> delta(at(n_)), lse(at(n_));
    for (int row = 0; row < n_; row += gradients_.rows) {
      const RowBlock block{x.rows + row, std::min(gradients_.rows, n_ - row), row};
      code_.count_rows(rule, {.block = block, .keys = {nullptr, n_}, .delta = delta.data(), .lse = lse.data()}, x.lanes,
                       counted);
    }
    exact_output(golden, x);
    for (int row = 0; row < n_; ++row) {
      double exact_delta = 0;
      for (int c = 0; c < d_; ++c)
        exact_delta +=
            static_cast<double>(x.d_o[attoscope::place(row, x.width) + at(c)]) * x.o[attoscope::place(row, d_) + at(c)];
      counted.delta_error += delta[at(row)] - exact_delta;
      counted.delta_size += std::fabs(exact_delta);
    }
    return counted;
  }
  /// Computes O without rounding into x.o.
  void exact_output(Job<double>& golden, const HeadMemory<T>& x) const {
    const std::size_t count = attoscope::place(n_, d_);
    std::vector<double> q(count), k(count), v(count);
    copy_rows(x.q, x.width, n_, d_, q.data(), d_);
    copy_rows(x.k, x.width, n_, d_, k.data(), d_);
    copy_rows(x.v, x.width, n_, d_, v.data(), d_);
    golden.q = q.data();
    golden.k = k.data();
    golden.v = v.data();
    AlignedBuffer scratch;
    HeadMemory<T> own = x;
    own.lanes = static_cast<char*>(scratch.at_least(isa_.in_double.scratch(golden)));
    attend(golden, CpuObserver<double>{nullptr, never_}, own);
  }

  const HeadBatch<T>& batch_;
  const int n_, d_;
  const InstructionSet isa_;
  const GradientLanes<T> gradients_;
  const HeadCode code_;
  const StopSign never_{};
};

void add(HeadStatistics& sum, const HeadStatistics& x) {
  for (const auto& [name, count] : head_counts) sum.*count += x.*count;
  sum.delta_error += x.delta_error;
  sum.delta_size += x.delta_size;
}

}  // namespace

template <class T>
HeadRule<T> head_rule(const ModelShape& shape, const TrainMethod& method, bool is_exact) {
  const TrainMethod x = is_exact ? exact_beyond_input(method) : method;
  Problem problem;
  problem.n = shape.context;
  problem.d = shape.head_dimension();
  problem.mask.kind = Mask::Kind::causal;
  HeadRule<T> rule;
  Operands<T> inputs;  // only their format is used
  if (const Rounding& r = x.method.precision[Step::input]; r.kind != Rounding::Kind::exact)
    inputs.format = format_of(r, x.format);
  rule.job = job(problem, x.method, x.format, inputs);
  rule.job.seed = 0;
  for (std::size_t i = 0; i < grad_step_count; ++i)
    if (is_of_training(static_cast<GradStep>(i))) rule.grad[i] = plan<T>(x.gradient.steps[i], x.format);
  rule.delta_from = x.gradient.delta_from;
  rule.normalises = normalises_P(x.method.algorithm);
  rule.is_merged = x.method.algorithm == Algorithm::split_kv;
  rule.rounds_m = true;
  rule.factors.dQ = rule.factors.dK = rule.job.scale * rule.job.exp2.score_unit;
  rule.block_k = shape.context;
  return rule;
}

template <class T>
void run_heads(const HeadBatch<T>& heads, std::string_view isa) {
  CpuHeads<T>(heads, isa).forward();
}

template <class T>
void run_head_gradients(const HeadGradient<T>& heads, std::string_view isa) {
  CpuHeads<T>(heads.forward, isa).backward(heads);
}

std::vector<HeadStatistics> head_statistics(const HeadGradient<float>& backward) {
  const std::vector<HeadStatistics> places = CpuHeads<float>(backward.forward, {}).statistics(backward);
  std::vector<HeadStatistics> sums(at(backward.forward.heads));
  for (std::size_t i = 0; i < places.size(); ++i) add(sums[i % sums.size()], places[i]);
  return sums;
}

template HeadRule<float> head_rule(const ModelShape&, const TrainMethod&, bool);
template HeadRule<double> head_rule(const ModelShape&, const TrainMethod&, bool);
template void run_heads(const HeadBatch<float>&, std::string_view);
template void run_heads(const HeadBatch<double>&, std::string_view);
template void run_head_gradients(const HeadGradient<float>&, std::string_view);
template void run_head_gradients(const HeadGradient<double>&, std::string_view);

}  // namespace attoscope
