/// One backward pass over all threads: its stored operands, its rule, and panels of rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/arithmetic/random.h"
#include "kernels/backward/backward.h"
#include "kernels/backward/gradient_rule.h"
#include "kernels/backward/stored_tiles.h"
#include "kernels/cpu/scaled_operands.h"
#include "kernels/experiment/traffic.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {

template <class T>
GradientLanes<T> lanes_of(std::string_view isa, bool precise) {
  [[maybe_unused]] const std::string_view name = instruction_set(isa).name;
  GradientCode code = sse2::gradient_code();
#ifdef ATTOSCOPE_HAVE_X86_64_V3
  if (name == "avx2") code = avx2::gradient_code();
  if (name == "avx512") code = avx512::gradient_code();
#endif
#ifdef ATTOSCOPE_HAVE_SIMT
  if (name == "simt" && !precise) code = simt::gradient_code();
#endif
  if constexpr (std::is_same_v<T, float>) {
    return code.single;
  } else {
    return precise ? code.precise : code.twice;
  }
}

/// Rule that adds the terms of a product of factors `x` and `y`. If only one factor is rounded to a format (one step is exact),
/// the rule of that format.
template <class T>
BlockSum block_sums(Accumulator a, const Format& x, const Format& y) {
  if (!std::is_same_v<T, float> || !is_tensor_core(a)) return {};
  const Format& known = x != fp32 ? x : y;
  if (!why_no_tensor_core(gpu_of(a), known, sums_of(a)).empty()) return {};
  return block_sum(a, tensor_core_rule(gpu_of(a), known, sums_of(a)), x, y);
}
/// Format of a step's results; fp32 if the step does not round.
inline Format format_after(const Rounding& r, const Format& main) {
  return r.kind == Rounding::Kind::exact ? fp32 : format_of(r, main);
}

/// All numbers below `count` in tiles that hold at least one of `some` (ascending).
inline std::vector<int> whole_tiles(const std::vector<int>& some, int tile, int count) {
  std::vector<int> all;
  for (const int i : some) {
    const std::int64_t first = i / tile * std::int64_t{tile}, end = std::min<std::int64_t>(first + tile, count);
    for (std::int64_t j = all.empty() ? first : std::max<std::int64_t>(first, all.back() + 1); j < end; ++j)
      all.push_back(static_cast<int>(j));
  }
  return all;
}
/// [i]: index of all[i] in `some`, or -1.
inline std::vector<int> places_in(const std::vector<int>& all, const std::vector<int>& some) {
  std::vector<int> places;
  for (const int i : all) {
    const auto found = std::ranges::lower_bound(some, i);
    places.push_back(found != some.end() && *found == i ? static_cast<int>(found - some.begin()) : -1);
  }
  return places;
}
inline void copy_row(const Matrix& from, int i, Matrix& to, int j) {
  std::copy_n(from.values.data() + place(i, from.cols), from.cols, to.values.data() + place(j, to.cols));
}

/// Operands of a backward pass's products: the values that stored Q, K, V and dO represent (element times scale).
template <class T>
struct StoredRows {
  StoredRows(const Problem& p, const Operands<T>& x, const std::vector<T>& output_gradient, const Scaling& scaling,
             const Format& main, const StopSign& stop)
      : q(p.n, p.d, stop),
        k(key_count(p), p.d, stop),
        v(key_count(p), value_columns(p), stop),
        d_o(p.n, value_columns(p), stop) {
    const OperandScales<T>& s = x.scales;
    const auto factor = [](const std::vector<T>& f, int row) { return f[f.size() == 1 ? 0 : at(row)]; };
    q.fill(x.q, [&](T y, int row, int) { return s.q.empty() ? y : y * factor(s.q, row); });
    k.fill(x.k, [&](T y, int row, int) { return s.k.empty() ? y : y * factor(s.k, row); });
    v.fill(x.v, [&](T y, int, int c) {
      const T scaled = s.o.empty() ? y : y * factor(s.o, c);
      return s.o_offset.empty() ? scaled : scaled + factor(s.o_offset, c);
    });
    const auto same = [](T y, int, int) { return y; };
    if (!scaling.is_on()) d_o.fill(output_gradient, same);
    if (!scaling.is_on()) return;
    given = PaddedRows<T>(p.n, value_columns(p), stop);
    given.fill(output_gradient, same);
    d_o.fill(stored_as(output_gradient, p.n, value_columns(p), scaling, ScaledTensor::Q, main, stop), same);
  }
  PaddedRows<T> q, k, v, d_o;
  PaddedRows<T> given{};  ///< dO before storage, if storage changes it
};

/// P and dS of the blocks of a panel; dP and the lost dS if wanted, else null.
template <class T>
struct PanelMemory {
  PanelMemory(std::size_t numbers, bool stores_twice, bool has_dp, bool has_lost)
      : p(room(0, numbers)),
        ds(room(1, numbers)),
        ds_of_dk(stores_twice ? room(2, numbers) : ds),
        dp(has_dp ? room(3, numbers) : nullptr),
        lost(has_lost ? room(4, numbers) : nullptr) {}
  T* room(std::size_t i, std::size_t numbers) { return static_cast<T*>(memory[i].at_least(numbers * sizeof(T))); }
  std::array<AlignedBuffer, 5> memory{};
  T *p, *ds, *ds_of_dk, *dp, *lost;
};

/// One panel of rows after P and dS were computed and stored as the products read them.
template <class T>
struct ToldPanel {
  const KeysTask<T>& keys;
  const PanelMemory<T>& memory;
  std::function<RowsTask<T>(int)> task_of;  ///< argument: index of a block in the panel
};

/// Rows and keys of one pass.
template <class T>
struct RowsAndKeys {
  std::vector<int> rows{};
  std::vector<int> places{};  ///< [row of the list]: its row of dQ, or -1; empty: dQ is not computed
  std::vector<int> keys{};
  bool has_sums = true;                             ///< compute dK and dV of the keys from all rows, and delta and L
  std::function<void(const ToldPanel<T>&)> told{};  ///< receives each panel, with dP and lost, instead of the sums
};

/// One backward pass: the forward pass, then panels of rows; finished rows are reported to the stop sign.
/// kernels/backward/partial_backward.cpp runs parts of a pass.
template <class T>
class BackwardPass {
 public:
  using Pass = RowsAndKeys<T>;

  BackwardPass(const Problem& problem, const GradMethod& grad, const Format& main, StoredRows<T> rows, const OutputGradients& d,
               const StopSign& stop, GradientDevice* device = nullptr)
      : problem_(problem), grad_(grad), main_(main), rows_(std::move(rows)), d_(d), stop_(stop), device_(device) {}

  /// Gradients of a method; `input` is the format of Q, K, V and dO.
  Gradients of_method(const Job<T>& forward, const Format& input, const ForwardAnswer<T>& known) {
    forward_ = known;
    if (forward_.output == nullptr) run_forward(forward);
    begin_method(forward, input);
    lost_.resize(at(problem_.n));
    return answer();
  }

  /// Sets the rule of a method; its forward pass must have run.
  void begin_method(const Job<T>& forward, const Format& input) {
    lanes_ = lanes_of<T>(stop_.isa, false);
    set_rule(forward);
    rule_.normalises = normalises_P(forward.method.algorithm);
    if (grad_.scale_at == ScaleAt::K && !rule_.normalises) take_scaled_scores();
    const Format of_P = format_after(grad_.precision[GradStep::P], main_),
                 of_dS = format_after(grad_.precision[GradStep::dS], main_);
    const Format of_K = grad_.scale_at == ScaleAt::K ? format_after(grad_.precision[GradStep::scaled_K], main_) : input;
    rule_.dp_sum = block_sums<T>(grad_.accumulator.dP, input, input);
    rule_.dv_sum = block_sums<T>(grad_.accumulator.dV, input, of_P);
    rule_.dk_sum = block_sums<T>(grad_.accumulator.dK, input, of_dS);
    rule_.dq_sum = block_sums<T>(grad_.accumulator.dQ, of_K, of_dS);
  }

  /// Golden's gradients, in double-double if `precise`. Finds m and l while it computes P if all rows and keys are wanted.
  Gradients of_golden(const Job<T>& forward, bool precise) {
    const bool finds_state = !precise && has_all();
    if (!precise && !finds_state) run_forward(forward);
    begin_golden(forward, precise, finds_state);
    return answer();
  }

  /// Sets golden's rule. Its forward pass must have run unless `finds_state` or `precise`.
  void begin_golden(const Job<T>& forward, bool precise, bool finds_state) {
    lanes_ = lanes_of<T>(stop_.isa, precise);
    set_rule(forward);
    rule_.finds_state = finds_state;
    if (finds_state) rule_.delta_from = DeltaFrom::probabilities;
    if (lanes_.parts > 1) sinks_.resize(at(problem_.n));
  }

  bool has_all() const {
    return computed_rows(problem_).size() == at(problem_.n) && computed_keys(problem_).size() == at(key_count(problem_));
  }

  /// Runs the pass and writes its results to g.
  void rows_and_keys(const Pass& pass, Gradients& g) {
    const bool last_first = grad_.last_queries_first;
    const bool cuts = pass.told || last_first || grad_.order == GradOrder::shuffled || stores_tiles() || sums_in_blocks();
    const int block_q = std::min(grad_.block_q, problem_.n);
    RowBlocks blocks(pass.rows, device_ != nullptr ? device_rows : lanes_.rows, block_q, cuts, last_first);
    if (!pass.places.empty()) blocks.set_places(pass.places);
    const KeyList list{pass.keys.size() == at(rule_.job.n) ? nullptr : pass.keys.data(), static_cast<int>(pass.keys.size())};
    if (device_ != nullptr) return run_on_device({rule_, blocks, panels(blocks, 1), block_q, list, problem_.n}, pass, g);
    const std::size_t of_block = at(list.count) * at(lanes_.rows) * at(lanes_.parts);
    const std::vector<int> cut = panels(blocks, blocks_at_once(blocks.count(), of_block * 2 * sizeof(T)));
    int longest = 0;
    for (std::size_t i = 1; i < cut.size(); ++i) longest = std::max(longest, cut[i] - cut[i - 1]);
    const PanelMemory<T> panel(at(longest) * of_block, stores_tiles(), pass.told != nullptr, tells_lost(pass));
    const int parts = lanes_.parts;
    PaddedRows<T> d_k(list.count * parts, problem_.d, stop_), d_v(list.count * parts, value_columns(problem_), stop_);
    KeysTask<T> task{.keys = list, .p = panel.p, .ds = panel.ds_of_dk, .d_k = d_k.data(), .d_v = d_v.data()};
    for (std::size_t i = 1; i < cut.size(); ++i) {
      task.blocks = &blocks[cut[i - 1]];
      task.first_rows = blocks.first_rows() + cut[i - 1];
      task.block_count = cut[i] - cut[i - 1];
      rows_of_panel(pass, blocks, cut[i - 1], task, panel, g);
      if (!pass.has_sums) continue;
      each_piece(task, [&](const KeysTask<T>& keys) { lanes_.sums_of_keys(rule_, keys, stop_); });
      std::size_t rows = 0;
      for (int block = cut[i - 1]; block < cut[i]; ++block) rows += at(blocks[block].count);
      stop_.report_rows(rows);
    }
    if (pass.has_sums)
      each_piece(task,
                 [&](const KeysTask<T>& keys) { lanes_.finish_keys(rule_, keys, g.dk.values.data(), g.dv.values.data()); });
  }

  const GradientRule<T>& rule() const { return rule_; }
  const GradientLanes<T>& lanes() const { return lanes_; }
  void set_forward(const ForwardAnswer<T>& known) { forward_ = known; }
  void set_known_delta(const double* delta) { rule_.known_delta = delta; }
  /// If `finds`, golden finds m and l while it computes P, for which it needs all keys; else it reads them from its forward
  /// pass.
  void set_finds_state(bool finds) {
    rule_.finds_state = finds;
    rule_.delta_from = finds ? DeltaFrom::probabilities : DeltaFrom::output;
  }
  void* scratch(const GradientRule<T>& rule) { return scratch_.local().at_least(lanes_.scratch(rule)); }
  bool stores_tiles() const { return !has_on_device(grad_); }

 private:
  void run_forward(const Job<T>& forward) {
    if (device_ != nullptr) {
      device_->forward(forward, problem_.n, output_, states_, stop_);
    } else {
      output_ = run(forward, numbers(problem_.n), nullptr, UncountedSign(stop_), &states_);
    }
    forward_ = {&output_, &states_};
  }

  Gradients answer() {
    const std::vector<int> rows = computed_rows(problem_), keys = computed_keys(problem_);
    Gradients g{zero_matrix(rows, problem_.d), zero_matrix(keys, problem_.d), zero_matrix(keys, value_columns(problem_)),
                std::vector<double>(at(problem_.n)), std::vector<double>(at(problem_.n))};
    if (has_all()) {
      rows_and_keys({.rows = rows, .places = rows, .keys = keys}, g);
    } else {
      rows_alone(rows, g);
      keys_alone(keys, g);
    }
    if (problem_.sink) g.dsink = sink_gradient(g);
    if (!lost_.empty()) g.lost_ds = share_lost(rows);
    return g;
  }
  double share_lost(const std::vector<int>& rows) const {
    std::int64_t lost = 0, seen = 0;
    for (const int row : rows) {
      lost += lost_[at(row)];
      seen += seen_keys(problem_, row);
    }
    return seen == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(seen);
  }
  Matrix zero_matrix(const std::vector<int>& rows, int columns) const {
    return {static_cast<int>(rows.size()), columns, zeros<double>(rows.size() * at(columns), stop_)};
  }

  // --- the rule -----------------------------------------------------------------------------------------------------------

  void set_rule(const Job<T>& forward) {
    GradientRule<T>& r = rule_;
    r.job = forward;
    r.job.method.algorithm = Algorithm::flash2;  // the scores' memory is then one tile
    r.job.method.block_k = std::min(64, forward.n);
    r.job.P.block = 0;
    for (std::size_t i = 0; i < grad_step_count; ++i) r.grad[i] = plan<T>(grad_.precision.steps[i], main_);
    r.delta_from = grad_.precision.delta_from;
    r.scale_at = grad_.scale_at;
    r.exponential = grad_.exponential;
    r.is_merged = forward.method.algorithm == Algorithm::split_kv;
    const T scale = static_cast<T>(scale_of(problem_));
    r.factors.dQ = r.factors.dK = scale;
    if (r.scale_at == ScaleAt::dS) r.factors = {.dS = scale};
    if (r.scale_at == ScaleAt::K) r.factors.dQ = ln_2<T>;
    r.block_k = std::min(grad_.block_k, forward.n);
    r.order = grad_.order;
    r.order_seed = grad_.order_seed;
    r.buffers = grad_.buffers;
    if (r.scale_at == ScaleAt::K) scale_keys();
    set_arrays();
  }
  void set_arrays() {
    GradientRule<T>& r = rule_;
    r.width = rows_.q.width();
    r.width_v = rows_.v.width();
    r.q = rows_.q.data();
    r.k = rows_.k.data();
    r.v = rows_.v.data();
    r.d_o = rows_.d_o.data();
    r.given_d_o = rows_.given.data() != nullptr ? rows_.given.data() : r.d_o;
    if (forward_.output != nullptr) {
      r.m = forward_.states->m.data();
      r.l = forward_.states->l.data();
      r.o = forward_.output->values.data();
    }
    r.d_lse = d_.d_lse.empty() ? nullptr : d_.d_lse.data();
    column_numbers_ = PaddedRows<T>(1, std::max(r.width, r.width_v), stop_);
    column_numbers_.each([](int, int c) { return static_cast<T>(c); });
    r.column_numbers = column_numbers_.data();
  }

  /// Replaces K by K' = round(K * (scale * log2 e)).
  void scale_keys() {
    const T factor = static_cast<T>(scale_of(problem_) * log2_e<double>);
    const RounderPlan<T>& own = rule_[GradStep::scaled_K];
    rows_.k.each([&](int key, int c) {
      const T x = rows_.k(key, c) * factor;
      if (own.kind != RounderKind::stochastic) return own.rounds() ? round(own.format, x) : x;
      return round_stochastic(own.format, x, random_bits(problem_.seed, random_step(GradStep::scaled_K), key, c, 0));
    });
  }
  /// Computes the scores from K', as exponents of 2.
  void take_scaled_scores() {
    Job<T>& job = rule_.job;
    scaled_keys_.resize(place(job.n, job.d));
    for (int key = 0; key < job.n; ++key)
      for (int c = 0; c < job.d; ++c)
        scaled_keys_[place(job.reversed ? job.n - 1 - key : key, job.d) + at(c)] = rows_.k(key, c);
    job.k = scaled_keys_.data();
    job.ranges.k = range_of<T>(scaled_keys_, Layout<T>::mantissa_bits, stop_);
    job.scale = 1;
    job.plans[static_cast<int>(Step::S)] = {};
  }

  // --- passes over the rows ---------------------------------------------------------------------------------------------

  bool sums_in_blocks() const {
    return rule_.dv_sum.accumulator != Accumulator::fma || rule_.dk_sum.accumulator != Accumulator::fma;
  }

  /// Runs a pass without `told` on the device and writes its results to g.
  void run_on_device(GradientPass<T> on_device, const Pass& pass, Gradients& g) {
    on_device.has_queries = !pass.places.empty();
    on_device.has_sums = pass.has_sums;
    if (on_device.has_queries && !lost_.empty()) on_device.lost_count = lost_.data();
    device_->run(on_device, g, stop_);
  }

  /// dQ of some rows, computed from whole query tiles if dS is stored by tiles.
  void rows_alone(const std::vector<int>& rows, Gradients& g) {
    if (grad_.scaling.dS.is_on()) {
      const std::vector<int> whole = whole_tiles(rows, grad_.block_q, problem_.n);
      return rows_and_keys({whole, places_in(whole, rows), numbers(rule_.job.n), false}, g);
    }
    if (device_ != nullptr)
      return rows_and_keys({rows, numbers(static_cast<int>(rows.size())), numbers(rule_.job.n), false}, g);
    const RowBlocks blocks(rows, lanes_.rows, grad_.block_q, grad_.order == GradOrder::shuffled, false);
    parallel_for_single(0, blocks.count(), [&](int i) {
      run_rows({.block = blocks[i],
                .query_tile = blocks.tile(i),
                .keys = {nullptr, rule_.job.n},
                .d_q = g.dq.values.data(),
                .places = blocks.places(i),
                .lost_count = lost_.empty() ? nullptr : lost_.data()},
               true);
    });
  }

  /// dK and dV of some keys, computed from whole key tiles if P or dS is stored by tiles.
  void keys_alone(const std::vector<int>& keys, Gradients& g) {
    if (!stores_tiles()) return rows_and_keys({.rows = numbers(problem_.n), .keys = keys}, g);
    const std::vector<int> whole = whole_tiles(keys, rule_.block_k, rule_.job.n), places = places_in(whole, keys);
    Gradients of_tiles{{}, zero_matrix(whole, problem_.d), zero_matrix(whole, value_columns(problem_)), g.delta, g.lse};
    rows_and_keys({.rows = numbers(problem_.n), .keys = whole}, of_tiles);
    for (int i = 0; i < of_tiles.dk.rows; ++i) {
      if (places[at(i)] < 0) continue;
      copy_row(of_tiles.dk, i, g.dk, places[at(i)]);
      copy_row(of_tiles.dv, i, g.dv, places[at(i)]);
    }
    g.delta = of_tiles.delta;
    g.lse = of_tiles.lse;
  }

  void run_rows(const RowsTask<T>& task, bool has_queries) {
    void* const memory = scratch(rule_);
    timed(stop_, [&] {
      lanes_.rows_of_block(rule_, task, stop_, memory);
      if (has_queries) lanes_.queries_of_block(rule_, task, stop_, memory);
    });
  }

  /// True if the pass records for each pair whether its dS is lost.
  bool tells_lost(const Pass& pass) const {
    return lanes_.parts == 1 && (pass.told || (stores_tiles() && !pass.places.empty() && !lost_.empty()));
  }
  void rows_of_panel(const Pass& pass, const RowBlocks& blocks, int first, const KeysTask<T>& whole,
                     const PanelMemory<T>& panel, Gradients& g) {
    const std::size_t of_block = at(whole.keys.count) * at(lanes_.rows) * at(lanes_.parts);
    const bool stores = stores_tiles(), has_queries = !pass.places.empty() && !pass.told;
    const auto task_of = [&](int i) {
      RowsTask<T> task{.block = blocks[first + i],
                       .query_tile = blocks.tile(first + i),
                       .keys = whole.keys,
                       .p = panel.p + at(i) * of_block,
                       .ds = panel.ds + at(i) * of_block,
                       .d_q = g.dq.values.data(),
                       .places = blocks.places(first + i)};
      if (panel.dp != nullptr) task.dp = panel.dp + at(i) * of_block;
      if (panel.lost != nullptr) task.lost = panel.lost + at(i) * of_block;
      if (has_queries && !stores && !lost_.empty()) task.lost_count = lost_.data();
      if (pass.has_sums || pass.told) {
        task.delta = g.delta.data();
        task.lse = g.lse.data();
        task.sinks = sinks_.data();
      }
      return task;
    };
    parallel_for_single(0, whole.block_count, [&](int i) { run_rows(task_of(i), has_queries && !stores); });
    if (stores) store_panel(whole, panel);
    if (pass.told) pass.told({whole, panel, task_of});
    if (!stores || !has_queries) return;
    if (panel.lost != nullptr) count_lost(whole, panel.lost);
    parallel_for_single(0, whole.block_count,
                        [&](int i) { lanes_.queries_of_block(rule_, task_of(i), stop_, scratch(rule_)); });
  }
  void count_lost(const KeysTask<T>& whole, const T* lost) {
    for (int block = 0; block < whole.block_count; ++block)
      for (int lane = 0; lane < whole.blocks[block].count; ++lane) {
        const int row = whole.blocks[block].rows[lane];
        const Keys seen = rule_.keys_of(row);
        for (int i = 0; i < whole.keys.count; ++i)
          if (seen.first <= whole.keys[i] && whole.keys[i] < seen.end)
            lost_[at(row)] += lost[(at(block) * at(whole.keys.count) + at(i)) * at(lanes_.rows) + at(lane)] != 0;
      }
  }

  /// Stores P and dS, and makes the dS of dK from dS before storage.
  void store_panel(const KeysTask<T>& whole, const PanelMemory<T>& panel) const {
    const GradScalings& s = grad_.scaling;
    const StoredTiles<T> tiles(rule_, whole, lanes_.rows, main_, stop_);
    if (s.P.is_on()) tiles.store(panel.p, panel.p, s.P, ScaledTensor::V);
    if (s.dS_of_dK.is_on()) tiles.store(panel.ds, panel.ds_of_dk, s.dS_of_dK, ScaledTensor::V);
    if (s.dS.is_on()) tiles.store(panel.ds, panel.ds, s.dS, ScaledTensor::Q, panel.lost);
    const std::size_t pairs = at(whole.block_count) * at(whole.keys.count) * at(lanes_.rows);
    if (!s.dS_of_dK.is_on()) std::copy_n(panel.ds, pairs, panel.ds_of_dk);
  }

  /// Blocks of a panel: some per thread, in a few megabytes if possible.
  static int blocks_at_once(int count, std::size_t bytes_of_block) {
    constexpr std::size_t quick = 2 << 20, most = 96 << 20;
    const std::size_t wanted = std::max(2 * at(max_concurrency()), quick / bytes_of_block),
                      allowed = std::max<std::size_t>(1, most / bytes_of_block);
    return static_cast<int>(std::min({wanted, allowed, at(count)}));
  }
  /// Blocks at which panels begin, and the end. Panels of stored tiles have whole query tiles; panels for tensor cores end at
  /// ends of pieces of rows.
  std::vector<int> panels(const RowBlocks& blocks, int at_once) const {
    const auto may_cut = [&](int i) {
      const int* const first_rows = blocks.first_rows();
      if (i == blocks.count() || first_rows[i] != first_rows[i - 1]) return true;
      if (stores_tiles()) return false;
      return !sums_in_blocks() || (blocks[i].rows[0] - first_rows[i]) % 64 == 0;
    };
    std::vector<int> cut{0};
    for (int i = 1; i <= blocks.count(); ++i)
      if (may_cut(i) && (i - cut.back() >= at_once || i == blocks.count())) cut.push_back(i);
    return cut;
  }

  /// Calls work(task) for pieces of the keys, on all threads.
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
    DD<double> precise{};
    for (const DD<double>& x : sinks_) precise = precise + x;
    if (!sinks_.empty()) return -(precise.high + precise.low);
    T sum = 0;
    for (std::size_t i = 0; i < g.lse.size(); ++i)
      if (!rule_.keys_of(static_cast<int>(i)).empty())
        sum = fused(exponential(static_cast<T>(*problem_.sink) - static_cast<T>(g.lse[i])), static_cast<T>(g.delta[i]), sum);
    return static_cast<double>(-sum);
  }

  const Problem& problem_;
  const GradMethod& grad_;
  const Format main_;
  StoredRows<T> rows_;
  const OutputGradients& d_;
  const StopSign& stop_;
  GradientDevice* device_;  ///< null: the CPU computes
  GradientLanes<T> lanes_{};
  RowStates<T> states_;
  Matrix output_;
  ForwardAnswer<T> forward_{};
  PaddedRows<T> column_numbers_;
  std::vector<T> scaled_keys_;
  std::vector<DD<double>> sinks_;   ///< [row]: terms of dsink in double-double
  std::vector<std::int64_t> lost_;  ///< [row]: keys whose dS is lost; empty: not counted
  PerThread<AlignedBuffer> scratch_;
  GradientRule<T> rule_;
};

}  // namespace attoscope
