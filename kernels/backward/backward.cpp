#include "kernels/backward/backward.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "kernels/arithmetic/random.h"
#include "kernels/backward/gradient_rule.h"
#include "kernels/backward/padded_rows.h"
#include "kernels/backward/row_blocks.h"
#include "kernels/cpu/scaled_operands.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {
namespace {

template <class T>
GradientLanes<T> lanes_of(std::string_view isa) {
  const std::string_view name = instruction_set(isa).name;
  GradientCode code = sse2::gradient_code();
#ifdef ATTOSCOPE_HAVE_X86_64_V3
  if (name == "avx2") code = avx2::gradient_code();
  if (name == "avx512") code = avx512::gradient_code();
#endif
  if constexpr (std::is_same_v<T, float>) {
    return code.single;
  } else {
    return code.twice;
  }
}

/// Numbers that the products of a backward pass take: those that stored Q, K and V stand for.
template <class T>
struct StoredRows {
  StoredRows(const Problem& p, const Operands<T>& x, const std::vector<T>& output_gradient, const StopSign& stop)
      : q(p.n, p.d, stop),
        k(key_count(p), p.d, stop),
        v(key_count(p), value_columns(p), stop),
        d_o(p.n, value_columns(p), stop) {
    const OperandScales<T>& s = x.scales;
    const auto factor = [](const std::vector<T>& f, int row) { return f[f.size() == 1 ? 0 : static_cast<std::size_t>(row)]; };
    q.fill(x.q, [&](T y, int row, int) { return s.q.empty() ? y : y * factor(s.q, row); });
    k.fill(x.k, [&](T y, int row, int) { return s.k.empty() ? y : y * factor(s.k, row); });
    v.fill(x.v, [&](T y, int, int c) {
      const T scaled = s.o.empty() ? y : y * factor(s.o, c);
      return s.o_offset.empty() ? scaled : scaled + factor(s.o_offset, c);
    });
    d_o.fill(output_gradient, [](T y, int, int) { return y; });
  }
  PaddedRows<T> q, k, v, d_o;
};

/// One backward pass: the forward pass, then panels of rows.
template <class T>
class BackwardPass {
 public:
  BackwardPass(const Problem& problem, const Job<T>& forward, const GradMethod& grad, const Format& main, StoredRows<T> rows,
               const OutputGradients& d, const StopSign& stop)
      : problem_(problem), grad_(grad), rows_(std::move(rows)), stop_(stop), lanes_(lanes_of<T>(stop.isa)) {
    std::vector<int> all(static_cast<std::size_t>(problem.n));
    std::iota(all.begin(), all.end(), 0);
    output_ = run(forward, all, nullptr, stop, &states_);
    set_rule(forward, main, d);
  }

  Gradients answer(bool normalises) {
    rule_.normalises = normalises;
    if (grad_.scale_at == ScaleAt::K && !normalises) take_scaled_scores();
    const std::vector<int> rows = computed_rows(problem_), keys = computed_keys(problem_);
    const std::size_t n = static_cast<std::size_t>(problem_.n);
    Gradients g{zero_matrix(rows, problem_.d), zero_matrix(keys, problem_.d), zero_matrix(keys, value_columns(problem_)),
                std::vector<double>(n), std::vector<double>(n)};
    if (rows.size() == n && keys.size() == static_cast<std::size_t>(rule_.job.n)) {
      rows_and_keys(KeyList{nullptr, rule_.job.n}, g, true);
    } else {
      rows_alone(rows, g);
      rows_and_keys(KeyList{keys.data(), static_cast<int>(keys.size())}, g, false);
    }
    if (problem_.sink) g.dsink = sink_gradient(g);
    return g;
  }

 private:
  Matrix zero_matrix(const std::vector<int>& rows, int columns) const {
    const std::size_t count = rows.size() * static_cast<std::size_t>(columns);
    return {static_cast<int>(rows.size()), columns, zeros<double>(count, stop_)};
  }

  void set_rule(const Job<T>& forward, const Format& main, const OutputGradients& d) {
    GradientRule<T>& r = rule_;
    r.job = forward;
    r.job.method.algorithm = Algorithm::flash2;  // of which the scores' memory is a tile
    r.job.method.block_k = std::min(64, forward.n);
    r.job.P.block = 0;
    for (std::size_t i = 0; i < grad_step_count; ++i) r.grad[i] = plan<T>(grad_.precision.steps[i], main);
    r.delta_from = grad_.precision.delta_from;
    r.scale_at = grad_.scale_at;
    r.exponential = grad_.exponential;
    r.is_merged = forward.method.algorithm == Algorithm::split_kv;
    const T scale = static_cast<T>(scale_of(problem_));
    r.factors.dQ = r.factors.dK = scale;
    if (r.scale_at == ScaleAt::dS) r.factors = {.dS = scale};
    if (r.scale_at == ScaleAt::K) r.factors.dQ = static_cast<T>(0x1.62e42fefa39efp-1);
    r.block_k = std::min(grad_.block_k, forward.n);
    r.order = grad_.order;
    r.order_seed = grad_.order_seed;
    r.buffers = grad_.buffers;
    r.width = rows_.q.width();
    r.width_v = rows_.v.width();
    r.m = states_.m.data();
    r.l = states_.l.data();
    r.o = output_.values.data();
    r.d_lse = d.d_lse.empty() ? nullptr : d.d_lse.data();
    column_numbers_ = PaddedRows<T>(1, std::max(r.width, r.width_v), stop_);
    column_numbers_.each([](int, int c) { return static_cast<T>(c); });
    r.column_numbers = column_numbers_.data();
    if (r.scale_at == ScaleAt::K) scale_keys();
    r.q = rows_.q.data();
    r.k = rows_.k.data();
    r.v = rows_.v.data();
    r.d_o = rows_.d_o.data();
  }

  /// K' = round(K * (scale * log2 e)) in place of K.
  void scale_keys() {
    const T factor = static_cast<T>(scale_of(problem_) * 0x1.71547652b82fep+0);
    const RounderPlan<T>& own = rule_[GradStep::scaled_K];
    rows_.k.each([&](int key, int c) {
      const T x = rows_.k(key, c) * factor;
      if (own.kind != RounderKind::stochastic) return own.rounds() ? round(own.format, x) : x;
      return round_stochastic(own.format, x, random_bits(problem_.seed, random_step(GradStep::scaled_K), key, c, 0));
    });
  }
  /// Makes the scores those of K', as exponents of 2.
  void take_scaled_scores() {
    Job<T>& job = rule_.job;
    scaled_keys_.resize(static_cast<std::size_t>(job.n) * static_cast<std::size_t>(job.d));
    for (int key = 0; key < job.n; ++key)
      for (int c = 0; c < job.d; ++c)
        scaled_keys_[static_cast<std::size_t>(job.reversed ? job.n - 1 - key : key) * static_cast<std::size_t>(job.d) +
                     static_cast<std::size_t>(c)] = rows_.k(key, c);
    job.k = scaled_keys_.data();
    job.ranges.k = range_of<T>(scaled_keys_, Layout<T>::mantissa_bits, stop_);
    job.scale = 1;
    job.plans[static_cast<int>(Step::S)] = {};
  }

  // --- passes over the rows ---------------------------------------------------------------------------------------------

  /// dQ of some rows.
  void rows_alone(const std::vector<int>& rows, Gradients& g) {
    const RowBlocks blocks(rows, lanes_.rows, grad_.block_q, cuts_for_queries(), false);
    PerThread<AlignedBuffer> scratch;
    parallel_for_single(0, blocks.count(), [&](int i) {
      run_rows({.block = blocks[i],
                .query_tile = blocks.tile(i),
                .keys = {nullptr, rule_.job.n},
                .d_q = g.dq.values.data(),
                .places = blocks.places(i)},
               scratch.local());
    });
  }
  bool cuts_for_queries() const { return grad_.order == GradOrder::shuffled; }

  void run_rows(const RowsTask<T>& task, AlignedBuffer& scratch) const {
    timed(stop_, [&] { lanes_.rows_of_block(rule_, task, stop_, scratch.at_least(lanes_.scratch(rule_))); });
  }

  /// dK and dV of the keys, from all rows, and with `has_queries` their dQ; delta and L.
  void rows_and_keys(const KeyList& keys, Gradients& g, bool has_queries) {
    std::vector<int> rows(static_cast<std::size_t>(problem_.n));
    std::iota(rows.begin(), rows.end(), 0);
    const bool last_first = grad_.last_queries_first;
    const RowBlocks blocks(rows, lanes_.rows, grad_.block_q, last_first || cuts_for_queries(), last_first);
    const std::size_t of_block = static_cast<std::size_t>(keys.count) * static_cast<std::size_t>(lanes_.rows);
    const int at_once = blocks_at_once(of_block * 2 * sizeof(T), blocks.count());
    PaddedRows<T> d_k(keys.count, problem_.d, stop_), d_v(keys.count, value_columns(problem_), stop_);
    PerThread<AlignedBuffer> scratch;
    AlignedBuffer p_memory, ds_memory;
    const std::size_t bytes = static_cast<std::size_t>(at_once) * of_block * sizeof(T);
    T *const p = static_cast<T*>(p_memory.at_least(bytes)), *const ds = static_cast<T*>(ds_memory.at_least(bytes));
    KeysTask<T> task{.keys = keys, .p = p, .ds = ds, .d_k = d_k.data(), .d_v = d_v.data()};
    for (int first = 0; first < blocks.count(); first += at_once) {
      const int count = std::min(at_once, blocks.count() - first);
      parallel_for_single(0, count, [&](int i) {
        const std::size_t at = static_cast<std::size_t>(i) * of_block;
        run_rows({.block = blocks[first + i],
                  .query_tile = blocks.tile(first + i),
                  .keys = keys,
                  .p = p + at,
                  .ds = ds + at,
                  .d_q = has_queries ? g.dq.values.data() : nullptr,
                  .places = blocks.places(first + i),
                  .delta = g.delta.data(),
                  .lse = g.lse.data()},
                 scratch.local());
      });
      task.blocks = &blocks[first];
      task.block_count = count;
      each_piece(task, [&](const KeysTask<T>& piece) { lanes_.sums_of_keys(rule_, piece, stop_); });
    }
    each_piece(task,
               [&](const KeysTask<T>& piece) { lanes_.finish_keys(rule_, piece, g.dk.values.data(), g.dv.values.data()); });
  }

  /// Blocks of rows whose P and dS are held at once: some for every thread, in a few tens of megabytes if possible.
  static int blocks_at_once(std::size_t bytes_of_block, int blocks) {
    constexpr std::size_t quick = 8 << 20, most = 96 << 20;
    const std::size_t threads = static_cast<std::size_t>(max_concurrency());
    const std::size_t wanted = std::max(2 * threads, quick / bytes_of_block),
                      allowed = std::max<std::size_t>(1, most / bytes_of_block);
    return static_cast<int>(std::clamp<std::size_t>(std::min(wanted, allowed), 1, static_cast<std::size_t>(blocks)));
  }

  /// work(task) for pieces of the keys, on all threads.
  template <class Work>
  void each_piece(const KeysTask<T>& whole, Work work) const {
    constexpr int piece = 32;
    parallel_for_single(0, (whole.keys.count + piece - 1) / piece, [&](int i) {
      KeysTask<T> task = whole;
      task.first = i * piece;
      task.end = std::min(whole.keys.count, task.first + piece);
      timed(stop_, [&] { work(task); });
    });
  }

  double sink_gradient(const Gradients& g) const {
    T sum = 0;
    for (std::size_t i = 0; i < g.lse.size(); ++i)
      if (!rule_.keys_of(static_cast<int>(i)).empty())
        sum = fused(exponential(static_cast<T>(*problem_.sink) - static_cast<T>(g.lse[i])), static_cast<T>(g.delta[i]), sum);
    return static_cast<double>(-sum);
  }

  const Problem& problem_;
  const GradMethod& grad_;
  StoredRows<T> rows_;
  const StopSign& stop_;
  GradientLanes<T> lanes_;
  RowStates<T> states_;
  Matrix output_;
  PaddedRows<T> column_numbers_;
  std::vector<T> scaled_keys_;
  GradientRule<T> rule_;
};

}  // namespace

template <class T>
Gradients gradients(const Problem& problem, const Method& method, const GradMethod& grad, const Format& main,
                    const Operands<T>& x, const OutputGradients& d, const StopSign& stop) {
  constexpr int tensor_of_output = 4;
  const Rounding& input = method.precision[Step::input];
  const RounderPlan<T> own = plan<T>(input, main);
  const bool is_rounded = !own.rounds() || own.format == x.format;
  Operands<T> again;
  if (!is_rounded) again = operands<T>(*as_tensors(x, shape_of(problem), stop), input, main, problem.seed, stop);
  const Operands<T>& mine = is_rounded ? x : again;
  const RounderPlan<T> plan_of_output = is_rounded ? RounderPlan<T>{} : own;
  const std::vector<T> d_o = rounded(d.d_o, value_columns(problem), plan_of_output, problem.seed, tensor_of_output, stop);
  const MethodOperands<T> stored(problem, method, main, mine, stop);
  const Job<T> forward = job(problem, method, main, stored.get());
  StoredRows<T> rows(problem, stored.stored() != nullptr ? *stored.stored() : mine, d_o, stop);
  return BackwardPass<T>(problem, forward, grad, main, std::move(rows), d, stop).answer(normalises_P(method.algorithm));
}

template Gradients gradients(const Problem&, const Method&, const GradMethod&, const Format&, const Operands<float>&,
                             const OutputGradients&, const StopSign&);
template Gradients gradients(const Problem&, const Method&, const GradMethod&, const Format&, const Operands<double>&,
                             const OutputGradients&, const StopSign&);

Gradients golden_gradients(const Problem& problem, const Tensors& inputs, const OutputGradients& d, bool,
                           const StopSign& stop) {
  const Method exact_softmax{.algorithm = Algorithm::three_pass};
  const GradMethod exact_gradient{.block_q = max_tile, .block_k = max_tile};
  Operands<double> x;
  x.q = inputs.q;
  x.k = inputs.k;
  x.v = inputs.v;
  const Job<double> forward = job(problem, exact_softmax, fp64, x);
  StoredRows<double> rows(problem, x, d.d_o, stop);
  return BackwardPass<double>(problem, forward, exact_gradient, fp64, std::move(rows), d, stop).answer(false);
}

}  // namespace attoscope
