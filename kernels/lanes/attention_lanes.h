/// The attention algorithms for one block of query rows: their steps, in order.
#pragma once

#include "kernels/lanes/tile_steps.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

template <class T, class Observer>
class AttentionBlock : private TileSteps<T, Observer> {
  using Base = TileSteps<T, Observer>;
  using Base::job_, Base::block_, Base::cursor_, Base::rows_, Base::tile_, Base::state_, Base::scratch_;
  using Base::R, Base::vectors, Base::infinity;
  using Base::vec, Base::active, Base::with, Base::fill_rows, Base::fill_columns, Base::round_columns, Base::if_due,
      Base::tile_max, Base::tile_sum;
  using typename Base::Array, typename Base::L, typename Base::V;

 public:
  ATTOSCOPE_HOST_DEVICE AttentionBlock(const Job<T>& job, const RowBlock& block, const LaneGroup& group,
                                       const Observer& observer, LaneArena& arena)
      : Base(job, block, group, observer, arena), runs_(job.method.algorithm == Algorithm::split_kv ? job.method.splits : 0) {
    const RounderPlan<T>& rescaled = job[Step::rescaled];
    rescale_by_1_is_free_ = !rescaled.rounds() || (job.flush <= 1 && rescaled.kind != RounderKind::stochastic &&
                                                   same(rescaled, job[Step::l]) && same(rescaled, job[Step::O]));
    run_state_ = arena.template take_own<T>(static_cast<std::size_t>(runs_) * 3 * R);
    runs_of_ = arena.template take_own<T>(R);
    run_o_ = arena.template take<T>(static_cast<std::size_t>(runs_) * static_cast<std::size_t>(job.d_v) * R);
  }

  /// True if there is memory for S of a whole tile.
  ATTOSCOPE_HOST_DEVICE bool holds_tile() const { return this->held_.has_room; }

  /// Writes the block's output rows, row-major, after all work is done. Returns the amount of work done (see PartialWork::end).
  ATTOSCOPE_HOST_DEVICE std::int64_t run(double* out) {
    cursor_.begin();
    this->load_rows();
    if_due(job_.d_v, [&] { this->clear_state(); });
    if (this->sees_keys()) run_algorithm();
    if_due(1, [&] { store_output(out); });
    return cursor_.end();
  }

 private:
  ATTOSCOPE_HOST_DEVICE void run_algorithm() {
    switch (job_.method.algorithm) {
      case Algorithm::three_pass:
        three_pass();
        break;
      case Algorithm::two_pass:
        two_pass();
        break;
      case Algorithm::flash1:
        each_tile(0, tiles(), [&] { flash1_tile(); });
        break;
      case Algorithm::flash2:
      case Algorithm::flash4:
        each_tile(0, tiles(), [&] { flash2_tile(); });
        break;
      case Algorithm::split_kv:
        split_kv();
        break;
      case Algorithm::hardware:
      case Algorithm::loaded:
        break;  // not emulated
    }
    finish();
  }

  // --- algorithms -----------------------------------------------------------------------------------------------------

  ATTOSCOPE_HOST_DEVICE int tiles() const { return (job_.n - 1) / job_.method.block_k + 1; }

  /// Calls tile() for each tile of [first, end) with a key that some row sees.
  template <class Tile>
  ATTOSCOPE_HOST_DEVICE void each_tile(int first, int end, Tile tile) {
    const int k = job_.method.block_k, begin = rows_.any.first / k, last = (rows_.any.end - 1) / k;
    for (int t = cursor_.first_tile(first > begin ? first : begin); t < end && t <= last && cursor_.opens(t); ++t) {
      this->enter_tile(t);
      tile();
    }
  }

  ATTOSCOPE_HOST_DEVICE void flash2_tile() {
    advance_max();
    if_due(2 * job_.d_v, [&] { rescale_O(); });
    const Array sums = job_.flush == 0 ? state_.O : job_.flush == 1 ? scratch_.PV : state_.pending;
    this->sweep_keys(state_.m, {.sums = true, .sums_P = sums_P(), .rounds_P = true, .multiplies = true}, sums, job_.flush != 1);
    if_due(2 * job_.d_v, [&] {
      update_l();
      update_O();
      report_tile();
    });
  }

  /// Computes S of the tile, the running max, and the rescale factors of the state.
  ATTOSCOPE_HOST_DEVICE void advance_max() {
    this->scores();
    if_due(16, [&] {
      this->running_max();
      this->rescale_factors();
    });
  }

  /// FlashAttention, Algorithm 1, lines 9 to 13: each tile has its own max and sum, and O stays normalised.
  ATTOSCOPE_HOST_DEVICE void flash1_tile() {
    this->scores();
    if_due(16, [&] {
      fill_rows(scratch_.m_tile, Step::m, [&](int r) { return vec(tile_max())[r]; });
      for (int r = 0; r < vectors; ++r) {
        const V old = vec(scratch_.m_old)[r] = vec(state_.m)[r], tile = vec(scratch_.m_tile)[r];
        vec(state_.m)[r] = active(r) == splat<V>(1) ? (tile > old ? tile : old) : old;
      }
      this->rescale_factors();
    });
    this->sweep_keys(scratch_.m_tile, {.sums = true, .sums_P = sums_P(), .rounds_P = true, .multiplies = true}, scratch_.PV);
    if_due(8 * job_.d_v, [&] {
      round_columns(scratch_.PV, Step::PV, tile_.index);
      merge_tile();
      this->report();
    });
  }

  /// Safe softmax as one tile of all keys, normalised before P.V.
  ATTOSCOPE_HOST_DEVICE void three_pass() {
    this->enter(0, 0, rows_.any.first, rows_.any.end);
    advance_max();
    this->sweep_keys(state_.m, {.sums = true});
    if_due(16, [&] {
      fill_rows(state_.l, Step::l, [&](int r) { return vec(tile_sum())[r]; });
      add_sink();
    });
    this->sweep_keys(state_.m, {.normalises = true, .multiplies = true}, state_.O);
    if_due(2 * job_.d_v, [&] {
      round_normalised_O();
      this->report();
    });
  }

  /// Online softmax for m and l; then normalised P and P.V, in one chain over all tiles.
  ATTOSCOPE_HOST_DEVICE void two_pass() {
    each_tile(0, tiles(), [&] {
      advance_max();
      this->sweep_keys(state_.m, {.sums = true, .e_is_P = true});
      if_due(16, [&] {
        update_l();
        this->report();
      });
    });
    if_due(16, [&] { add_sink(); });
    each_tile(0, tiles(), [&] { this->sweep_keys(state_.m, {.normalises = true, .multiplies = true}, state_.O, true); });
    this->enter(0, 0, rows_.any.first, rows_.any.end);
    if_due(2 * job_.d_v, [&] { round_normalised_O(); });
  }

  /// Computes each run of tiles independently, then merges the runs.
  ATTOSCOPE_HOST_DEVICE void split_kv() {
    const int per_run = (tiles() - 1) / runs_ + 1;
    for (int run = 0; run < runs_; ++run) {
      if_due(job_.d_v, [&] { this->clear_state(); });
      run_first_ = run * per_run;
      each_tile(run_first_, run_first_ + per_run, [&] { flash2_tile(); });
      if_due(2 * job_.d_v, [&] {
        flush_rest();
        save_run(run);
      });
    }
    this->enter(0, 0, rows_.any.first, rows_.any.end);
    merge_runs();
  }

  /// Adds the sink to l, and rescales O if the algorithm keeps it normalised.
  ATTOSCOPE_HOST_DEVICE void finish() {
    if (job_.flush > 1 && runs_ == 0) if_due(2 * job_.d_v, [&] { flush_rest(); });
    if (normalises_P(job_.method.algorithm) || !job_.has_sink) return;
    const bool normalised = !divides_at_the_end(job_.method.algorithm);
    if_due(2 * job_.d_v, [&] {
      const Array l_before = tile_sum();  // scratch memory that is no longer needed
      for (int r = 0; r < vectors; ++r) vec(l_before)[r] = vec(state_.l)[r];
      add_sink();
      if (normalised)
        each_column(
            [o = vec(state_.O), before = vec(l_before), l = vec(state_.l)](int i, int r) { o[i] = o[i] * before[r] / l[r]; });
    });
  }

  /// Writes the output: O/l, or O if it is already normalised. Rows that see no key get `output_without_keys`.
  ATTOSCOPE_HOST_DEVICE void store_output(double* out) {
    const bool divides = divides_at_the_end(job_.method.algorithm);
    const auto o = vec(state_.O), l = vec(state_.l);
    this->enter(0, 0, rows_.any.first, rows_.any.end);
    if (divides && !job_.is_scaled_at_the_end()) {
      fill_columns(state_.O, Step::output, [o, l](int i, int r) { return o[i] / l[r]; }, 0);
    } else if (job_.is_scaled_at_the_end()) {
      const auto scaled = [o, l, divides, &scales = job_.scales](int i, int r) {
        return scales.output(divides ? o[i] / l[r] : o[i], i / vectors);
      };
      fill_columns(state_.O, Step::output, scaled, 0);
    } else {
      round_columns(state_.O, Step::output, 0);
    }
    const double of_no_key = job_.output_without_keys(runs_ > 1);
    for (int lane = 0; lane < block_.count; ++lane) {
      const bool sees_no_key = job_.keys_of(block_.rows[lane]).empty();
      double* const row = out + static_cast<std::ptrdiff_t>(lane) * job_.d_v;
      this->group_.each_own(job_.d_v, [&](int c, int end) {
        for (; c < end; ++c) *in_global(row + c) = sees_no_key ? of_no_key : static_cast<double>(state_.O[c * R + lane]);
      });
    }
    if constexpr (requires(const Observer& w, const T* x) { w.state(block_, x, x); }) report_state();
  }

  /// Passes m and l to an observer that has `state`. For split_kv, m is a log-sum-exp, and l is 1 in rows with a single run.
  ATTOSCOPE_HOST_DEVICE void report_state() {
    const V one = splat<V>(1);
    for (int r = 0; runs_ > 0 && r < vectors; ++r) {
      const V lone = lone_log_sum_exp(vec(state_.m)[r], vec(state_.l)[r]);
      vec(state_.m)[r] = vec(runs_of_)[r] > one ? vec(state_.m)[r] : lone;
      vec(state_.l)[r] = vec(runs_of_)[r] > one ? vec(state_.l)[r] : one;
    }
    if (this->group_.leads()) this->observer_.state(block_, first_of(state_.m), first_of(state_.l));
  }

  /// Calls f(i, r) for the vectors of the warp's columns of O: i is the vector's index, r its index within the column.
  template <class F>
  ATTOSCOPE_HOST_DEVICE void each_column(F f) const {
    this->group_.each_own(job_.d_v, [&](int c, int end) {
      for (; c < end; ++c)
        for (int r = 0; r < vectors; ++r) f(c * vectors + r, r);
    });
  }

  // --- parts of the algorithms ----------------------------------------------------------------------------------------

  ATTOSCOPE_HOST_DEVICE static bool same(const RounderPlan<T>& x, const RounderPlan<T>& y) {
    return x.kind == y.kind && x.format == y.format;
  }

  ATTOSCOPE_HOST_DEVICE bool sums_P() const { return job_.method.precision.sum_rounded_P; }

  ATTOSCOPE_HOST_DEVICE void round_normalised_O() {
    if (!job_.method.precision.accumulate_in_O) round_columns(state_.O, Step::PV, 0);
    round_columns(state_.O, Step::O, 0);
  }

  /// l = round(round(alpha * l) + tile sum), with Kahan's correction if the method uses it.
  ATTOSCOPE_HOST_DEVICE void update_l() {
    const V one = splat<V>(1);
    V rescaled[vectors], lost[vectors];
    with(Step::rescaled, [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) {
        rescaled[r] = rounder(vec(scratch_.alpha)[r] * vec(state_.l)[r], RoundingKey{r, tile_.index, -1});
        lost[r] = vec(scratch_.alpha)[r] * vec(state_.l_lost)[r];
      }
    });
    const bool kahan = job_.method.kahan_l;
    with(Step::l, [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) {
        const V y = kahan ? vec(tile_sum())[r] - lost[r] : vec(tile_sum())[r];
        const V next = rounder(rescaled[r] + y, RoundingKey{r, tile_.index, 0});
        if (kahan) vec(state_.l_lost)[r] = active(r) == one ? (next - rescaled[r]) - y : vec(state_.l_lost)[r];
        vec(state_.l)[r] = active(r) == one ? next : vec(state_.l)[r];
      }
    });
  }

  /// O = round(alpha * O), and the same for pending sums not yet in O.
  ATTOSCOPE_HOST_DEVICE void rescale_O() {
    if (!records_roundings && !this->any_rescale() && rescale_by_1_is_free_) return;
    rescale(state_.O, tile_.index);
    if (job_.flush > 1) rescale(state_.pending, pending_key - tile_.index);
  }
  ATTOSCOPE_HOST_DEVICE void rescale(Array x, int key) {
    fill_columns(x, Step::rescaled, [v = vec(x), alpha = vec(scratch_.alpha)](int i, int r) { return alpha[r] * v[i]; }, key);
  }

  /// O = round(rescaled O + P.V), or round(O) if P.V was accumulated in O. If flush > 1, only after every `flush` tiles.
  ATTOSCOPE_HOST_DEVICE void update_O() {
    if (job_.flush == 0) return round_columns(state_.O, Step::O, tile_.index);
    if (job_.flush == 1) return add_to_O(scratch_.PV, tile_.index);
    if ((tile_.index - run_first_ + 1) % job_.flush == 0) flush(tile_.index);
  }
  /// O = round(O + round(sums)).
  ATTOSCOPE_HOST_DEVICE void add_to_O(Array sums, int key) {
    round_columns(sums, Step::PV, key);
    fill_columns(state_.O, Step::O, [o = vec(state_.O), pv = vec(sums)](int i, int) { return o[i] + pv[i]; }, key);
  }
  ATTOSCOPE_HOST_DEVICE void flush(int key) {
    add_to_O(state_.pending, key);
    each_column([pending = vec(state_.pending), active = vec(tile_.active)](int i, int r) {
      pending[i] = active[r] == splat<V>(1) ? V{} : pending[i];
    });
  }
  /// Flushes the rest after the last tile, in all rows.
  ATTOSCOPE_HOST_DEVICE void flush_rest() {
    if (job_.flush <= 1) return;
    this->enter(0, 0, rows_.any.first, rows_.any.end);
    flush(-1);
  }
  /// Reports the state as if O were flushed after this tile.
  ATTOSCOPE_HOST_DEVICE void report_tile() {
    if (job_.flush <= 1 || !this->observer_.wanted()) return this->report();
    const Array O = state_.O;
    this->each_own_column([pv = scratch_.PV, pending = state_.pending](int i) { pv[i] = pending[i]; });
    round_columns(scratch_.PV, Step::PV, -1);
    fill_columns(scratch_.PV, Step::O, [o = vec(O), pv = vec(scratch_.PV)](int i, int) { return o[i] + pv[i]; }, -1);
    state_.O = scratch_.PV;
    this->report();
    state_.O = O;
  }

  /// l = round(alpha l + beta l~); O = round((alpha l O + beta P.V) / l) with beta = round(exp(m~ - m)).
  ATTOSCOPE_HOST_DEVICE_NOINLINE void merge_tile() {
    const V one = splat<V>(1);
    const Array beta = scratch_.m_tile, sum = tile_sum();  // beta overwrites m~
    const auto pv = vec(scratch_.PV), o = vec(state_.O);
    const int tile = tile_.index;
    V old_share[vectors];
    fill_rows(beta, Step::alpha, [&](int r) { return this->factor(vec(scratch_.m_tile)[r] - vec(state_.m)[r]); }, 1);
    with(Step::rescaled, [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) {
        old_share[r] = rounder(vec(scratch_.alpha)[r] * vec(state_.l)[r], RoundingKey{r, tile_.index, -1});
        vec(sum)[r] = rounder(vec(beta)[r] * vec(sum)[r], RoundingKey{r, tile_.index, -2});
      }
    });
    fill_columns(scratch_.PV, Step::rescaled, [pv, beta = vec(beta)](int i, int r) { return beta[r] * pv[i]; }, -1 - tile);
    fill_columns(state_.O, Step::rescaled, [o, &old_share](int i, int r) { return old_share[r] * o[i]; }, tile);
    with(Step::l, [&](auto rounder) {
      for (int r = 0; r < vectors; ++r)
        vec(state_.l)[r] =
            active(r) == one ? rounder(old_share[r] + vec(sum)[r], RoundingKey{r, tile_.index, 0}) : vec(state_.l)[r];
    });
    fill_columns(state_.O, Step::O, [o, pv, l = vec(state_.l)](int i, int r) { return (o[i] + pv[i]) / l[r]; }, tile);
  }

  /// l = round(l + round(exp(round(sink - m)))).
  ATTOSCOPE_HOST_DEVICE_NOINLINE void add_sink() {
    if (!job_.has_sink) return;
    this->enter(0, 0, rows_.any.first, rows_.any.end);  // not the block's last tile: random bits must not depend on it
    const Array share = scratch_.m_tile;                // scratch memory that is no longer needed
    fill_rows(share, Step::shifted, [&](int r) { return is_merged(r, job_.sink - vec(state_.m)[r], sink_exponent(r)); }, -1);
    fill_rows(
        share, Step::e,
        [&](int r) {
          const V x = vec(share)[r], lone = (this->exp2() ? exponential2(x) : exponential(x)) * job_.P.lift;
          return is_merged(r, exponential(x), lone);
        },
        -1);
    fill_rows(state_.l, Step::l, [&](int r) { return vec(state_.l)[r] + vec(share)[r]; }, -1);
  }
  ATTOSCOPE_HOST_DEVICE V sink_exponent(int r) const {
    if (!this->exp2()) return job_.sink - vec(state_.m)[r];
    return fused(splat<V>(job_.sink), splat<V>(log2_e<T>), -(vec(state_.m)[r] * job_.exp2.scale - job_.exp2.shift));
  }
  /// `merged` in rows whose state merges several runs, else `otherwise`.
  ATTOSCOPE_HOST_DEVICE V is_merged(int r, V merged, V otherwise) const {
    return runs_ > 0 ? (vec(runs_of_)[r] > splat<V>(1) ? merged : otherwise) : otherwise;
  }

  // --- split_kv -------------------------------------------------------------------------------------------------------

  ATTOSCOPE_HOST_DEVICE Array run_m(int run) { return run_state_ + run * 3 * R; }
  ATTOSCOPE_HOST_DEVICE Array run_l(int run) { return run_m(run) + R; }
  ATTOSCOPE_HOST_DEVICE Array run_started(int run) { return run_m(run) + 2 * R; }
  ATTOSCOPE_HOST_DEVICE Array run_o(int run) { return run_o_ + static_cast<std::ptrdiff_t>(run) * job_.d_v * R; }

  ATTOSCOPE_HOST_DEVICE void save_run(int run) {
    for (int i = 0; i < R; ++i) {
      run_m(run)[i] = state_.m[i];
      run_l(run)[i] = state_.l[i];
      run_started(run)[i] = state_.started[i];
    }
    this->each_own_column([own = run_o(run), o = state_.O](int i) { own[i] = o[i]; });
    if (!job_.partial.rounds()) return;
    with_rounder(job_.partial, partial_step, this->random(), [&](auto rounder) {
      each_column([&, o = vec(run_o(run)), l = vec(state_.l)](int i, int r) {
        o[i] = rounder(o[i] / l[r], RoundingKey{r, i / vectors, -2 - run});
      });
    });
  }

  /// Merges the runs' states, in ascending order. A row with keys in only one run keeps that run's state, unless partial
  /// outputs are rounded. With several runs, m is the largest log-sum-exp, and l and O are the sums of w and w * (O/l), w =
  /// round(exp(lse - m)). The sigmoid rule sets m to the log-sum-exp, l to 1 and O to the output.
  ATTOSCOPE_HOST_DEVICE void merge_runs() {
    if_due(32 * runs_ + job_.d_v, [&] { begin_merge(); });
    for (int run = 0; run < runs_; ++run)
      if_due(8 * job_.d_v, [&] {
        merges_one_by_one() ? blend_run(run) : add_run(run);
        if (run + 1 == runs_) end_merge();
      });
    for (int run = 0; run < runs_; ++run)
      if_due(job_.d_v, [&] {
        if (!job_.partial.rounds()) restore_single(run);
      });
  }
  ATTOSCOPE_HOST_DEVICE bool merges_one_by_one() const { return job_.method.merge == MergeRule::sigmoid; }

  /// True if the run's log-sum-exp is stored in base 2.
  ATTOSCOPE_HOST_DEVICE bool is_in_base_2(int run) const {
    const StoredBase base = job_.method.lse_base;
    const int per_run = (tiles() - 1) / runs_ + 1;
    return base == StoredBase::last_two_as_e ? run == (tiles() - 1) / per_run : base != StoredBase::e;
  }
  /// exp of a difference of log-sum-exps, in the base in which they are read.
  ATTOSCOPE_HOST_DEVICE V weight(V difference) const {
    return job_.method.lse_base == StoredBase::two ? exponential2(difference) : exponential(difference);
  }
  /// Converts the merged m from base 2 to a natural logarithm if necessary.
  ATTOSCOPE_HOST_DEVICE void end_merge() {
    if (job_.method.lse_base == StoredBase::two)
      for (int r = 0; r < vectors; ++r) vec(state_.m)[r] = vec(state_.m)[r] * ln_2<T>;
    if (job_.mask_tensor.terms != nullptr)
      for (int r = 0; r < vectors; ++r) vec(state_.m)[r] = vec(state_.m)[r] + lowest(r) * job_.exp2.score_unit;
  }

  ATTOSCOPE_HOST_DEVICE void begin_merge() {
    for (int r = 0; r < vectors; ++r) {
      V m = splat<V>(-infinity), count{};
      for (int run = 0; run < runs_; ++run) {
        const V lse = log_sum_exp(run, r);
        m = lse > m ? lse : m;
        count = count + vec(run_started(run))[r];
      }
      vec(state_.m)[r] = merges_one_by_one() ? splat<V>(-infinity) : m;
      vec(state_.l)[r] = merges_one_by_one() ? splat<V>(1) : V{};
      vec(runs_of_)[r] = job_.partial.rounds() ? count + count : count;  // a single run is merged, too
    }
    each_column([o = vec(state_.O)](int i, int) { o[i] = V{}; });
  }

  /// Restores the run's state in rows that have no other run.
  ATTOSCOPE_HOST_DEVICE void restore_single(int run) {
    const V one = splat<V>(1);
    V single[vectors];
    for (int r = 0; r < vectors; ++r) {
      single[r] = vec(run_started(run))[r] == one ? vec(runs_of_)[r] : V{};
      vec(state_.m)[r] = single[r] == one ? vec(run_m(run))[r] : vec(state_.m)[r];
      vec(state_.l)[r] = single[r] == one ? vec(run_l(run))[r] : vec(state_.l)[r];
    }
    each_column(
        [&single, one, o = vec(state_.O), own = vec(run_o(run))](int i, int r) { o[i] = single[r] == one ? own[i] : o[i]; });
  }

  /// The largest m of the runs if the row sees only a mask tensor's lowest numbers, else 0. It is subtracted from these rows'
  /// log-sum-exps, which otherwise keep no bit of ln l.
  ATTOSCOPE_HOST_DEVICE V lowest(int r) {
    const V lone = splat<V>(-infinity), none{};
    if (job_.mask_tensor.terms == nullptr) return none;
    V m = lone;
    for (int run = 0; run < runs_; ++run) {
      const V own = vec(run_started(run))[r] == splat<V>(1) ? vec(run_m(run))[r] : lone;
      m = own > m ? own : m;
    }
    return m < T(-0x1p24) ? (m > -infinity ? m : none) : none;
  }

  /// The log-sum-exp of a run as stored; -infinity if the run saw no key.
  ATTOSCOPE_HOST_DEVICE V log_sum_exp(int run, int r) {
    const V lse = lone_log_sum_exp(vec(run_m(run))[r] - lowest(r), vec(run_l(run))[r]);
    const V stored = is_in_base_2(run) ? lse * log2_e<T> : lse;
    return vec(run_started(run))[r] == splat<V>(1) ? stored : splat<V>(-infinity);
  }
  ATTOSCOPE_HOST_DEVICE V lone_log_sum_exp(V m, V l) const {
    return m * job_.exp2.score_unit + (logarithm(l) - job_.P.log_lift);
  }

  ATTOSCOPE_HOST_DEVICE void add_run(int run) {
    fill_rows(scratch_.alpha, Step::alpha, [&](int r) { return weight(log_sum_exp(run, r) - vec(state_.m)[r]); }, -2 - run);
    const auto o = vec(run_o(run)), l = vec(run_l(run)), started = vec(run_started(run)), all = vec(state_.O),
               share = vec(scratch_.PV), alpha = vec(scratch_.alpha);
    const V one = splat<V>(1);
    const bool divided = job_.partial.rounds();
    with(Step::rescaled, [&](auto rounder) {
      each_column([&](int i, int r) {
        share[i] = rounder(alpha[r] * (divided ? o[i] : o[i] / l[r]), RoundingKey{r, i / vectors, -2 - run});
      });
    });
    with(Step::l, [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) {
        const V next = rounder(vec(state_.l)[r] + vec(scratch_.alpha)[r], RoundingKey{r, run, -2});
        vec(state_.l)[r] = started[r] == one ? next : vec(state_.l)[r];
      }
    });
    with(Step::O, [&](auto rounder) {
      each_column([&](int i, int r) {
        const V next = rounder(all[i] + share[i], RoundingKey{r, i / vectors, -2 - run});
        all[i] = started[r] == one ? next : all[i];
      });
    });
  }

  /// O = round(O - round(s (O - O_i))) with s = round(1 / (1 + exp(L - lse_i))).
  ATTOSCOPE_HOST_DEVICE_NOINLINE void blend_run(int run) {
    const auto o = vec(run_o(run)), l = vec(run_l(run)), started = vec(run_started(run)), all = vec(state_.O),
               share = vec(scratch_.PV), s = vec(scratch_.alpha), m = vec(state_.m);
    const V one = splat<V>(1);
    const bool divided = job_.partial.rounds();
    fill_rows(scratch_.alpha, Step::alpha, [&](int r) { return one / (one + weight(m[r] - log_sum_exp(run, r))); }, -2 - run);
    with(Step::rescaled, [&](auto rounder) {
      each_column([&](int i, int r) {
        const V own = divided ? o[i] : o[i] / l[r];
        share[i] = rounder(s[r] * (all[i] - own), RoundingKey{r, i / vectors, -2 - run});
      });
    });
    with(Step::O, [&](auto rounder) {
      each_column([&](int i, int r) {
        const V next = rounder(all[i] - share[i], RoundingKey{r, i / vectors, -2 - run});
        all[i] = started[r] == one ? next : all[i];
      });
    });
    const T unit = job_.method.lse_base == StoredBase::two ? log2_e<T> : T{1};
    for (int r = 0; r < vectors; ++r) {
      const V lse = log_sum_exp(run, r), high = lse > m[r] ? lse : m[r], low = lse > m[r] ? m[r] : lse;
      m[r] = started[r] == one ? high + logarithm(one + weight(low - high)) * unit : m[r];
    }
  }

  static constexpr Step partial_step = other_step(18);  ///< step of random bits, after those of the backward pass
  static constexpr int pending_key = -(1 << 24);        ///< key of the roundings of pending sums, distinct from O's keys
  int runs_ = 0, run_first_ = 0;                        ///< run_first_: first tile of the run
  bool rescale_by_1_is_free_ = true;
  Array run_state_, run_o_, runs_of_;
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
