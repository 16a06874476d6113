/// The algorithms, for one block of query rows: which steps, in which order.
#pragma once

#include "kernels/tile_steps.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

template <class T, class Watch>
class AttentionBlock : private TileSteps<T, Watch> {
  using Base = TileSteps<T, Watch>;
  using Base::job_, Base::block_, Base::m_, Base::m_old_, Base::m_tile_, Base::l_, Base::l_lost_, Base::alpha_, Base::sum_,
      Base::started_, Base::o_, Base::pv_, Base::s_, Base::block_first_, Base::block_end_, Base::tile_, Base::walk_, Base::vec,
      Base::active, Base::with, Base::fill_rows, Base::fill_columns, Base::round_columns, Base::step;
  using Base::R, Base::vectors, Base::infinity;
  using typename Base::Array, typename Base::L, typename Base::V;

 public:
  ATTOSCOPE_ANYWHERE AttentionBlock(const Job<T>& job, const RowBlock& block, const Crew& crew, const Watch& watch,
                                    LaneArena& arena)
      : Base(job, block, crew, watch, arena), runs_(job.method.algorithm == Algorithm::split_kv ? job.method.splits : 0) {
    const RounderPlan<T>& rescaled = job[Step::rescaled];
    rescale_by_1_is_free_ = !rescaled.rounds() || (rescaled.kind != RounderKind::stochastic && same(rescaled, job[Step::l]) &&
                                                   same(rescaled, job[Step::O]));
    run_state_ = arena.template take<T>(static_cast<std::size_t>(runs_) * 3 * R);
    runs_of_ = arena.template take<T>(R);
    run_o_ = arena.template take<T>(static_cast<std::size_t>(runs_) * static_cast<std::size_t>(job.d) * R);
  }

  /// The block's rows of the output, row-major: written when the way is over. Says how far it was gone (see CutWalk::end).
  ATTOSCOPE_ANYWHERE std::int64_t run(double* out) {
    walk_.begin();
    this->load_rows();
    step(job_.d, [&] { this->clear_state(); });
    if (this->sees_keys()) run_algorithm();
    step(1, [&] { store_output(out); });
    return walk_.end();
  }

 private:
  ATTOSCOPE_ANYWHERE void run_algorithm() {
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

  ATTOSCOPE_ANYWHERE int tiles() const { return (job_.n - 1) / job_.method.block_k + 1; }

  /// tile() for those of the tiles [first, end) in which some row sees a key.
  template <class Tile>
  ATTOSCOPE_ANYWHERE void each_tile(int first, int end, Tile tile) {
    const int k = job_.method.block_k, begin = block_first_ / k, last = (block_end_ - 1) / k;
    for (int t = walk_.enter(first > begin ? first : begin); t < end && t <= last && walk_.opens(t); ++t) {
      this->enter_tile(t);
      tile();
    }
  }

  ATTOSCOPE_ANYWHERE void flash2_tile() {
    const bool direct = job_.method.precision.accumulate_in_O;
    advance_max();
    this->softmax_tile(m_, true, sums_P());
    step(2 * job_.d, [&] {
      update_l();
      rescale_O();
    });
    this->weighted_values(direct ? o_ : pv_, direct);
    step(2 * job_.d, [&] {
      update_O();
      this->report();
    });
  }

  /// S of the tile, the running max that it leads to, and what that asks of the state.
  ATTOSCOPE_ANYWHERE void advance_max() {
    this->scores();
    step(16, [&] {
      this->running_max();
      this->rescale_factors();
    });
  }

  /// FlashAttention, Algorithm 1, lines 9 to 13: the tile has a max and a sum of its own, O is kept normalised.
  ATTOSCOPE_ANYWHERE void flash1_tile() {
    this->scores();
    step(16, [&] {
      fill_rows(m_tile_, Step::m, [&](int r) { return vec(sum_)[r]; });
      for (int r = 0; r < vectors; ++r) {
        const V old = vec(m_old_)[r] = vec(m_)[r], tile = vec(m_tile_)[r];
        vec(m_)[r] = active(r) == splat<V>(1) ? (tile > old ? tile : old) : old;
      }
      this->rescale_factors();
    });
    this->softmax_tile(m_tile_, true, sums_P());
    this->weighted_values(pv_, false);
    step(8 * job_.d, [&] {
      round_columns(pv_, Step::PV, tile_);
      merge_tile();
      this->report();
    });
  }

  /// Safe softmax as one tile of all keys, normalised before P.V.
  ATTOSCOPE_ANYWHERE void three_pass() {
    this->enter(0, 0, block_first_, block_end_);
    advance_max();
    this->softmax_tile(m_, false, false);
    step(16, [&] {
      fill_rows(l_, Step::l, [&](int r) { return vec(sum_)[r]; });
      add_sink();
    });
    this->normalise();
    this->weighted_values(o_, false);
    step(2 * job_.d, [&] {
      round_normalised_O();
      this->report();
    });
  }

  /// Online softmax for m and l; then P normalised and P.V, in one chain over all tiles.
  ATTOSCOPE_ANYWHERE void two_pass() {
    each_tile(0, tiles(), [&] {
      advance_max();
      this->softmax_tile(m_, false, false);
      step(16, [&] {
        update_l();
        this->keep(this->kept_P_);
        this->report();
      });
    });
    step(16, [&] { add_sink(); });
    each_tile(0, tiles(), [&] {
      this->scores();
      this->each_piece(this->costs_.weight(), [&] { this->exponentials(m_); });
      this->normalise();
      this->weighted_values(o_, true);
    });
    this->enter(0, 0, block_first_, block_end_);
    step(2 * job_.d, [&] { round_normalised_O(); });
  }

  /// Runs of tiles as if each were alone, then the merge.
  ATTOSCOPE_ANYWHERE void split_kv() {
    const int per_run = (tiles() - 1) / runs_ + 1;
    for (int run = 0; run < runs_; ++run) {
      step(job_.d, [&] { this->clear_state(); });
      each_tile(run * per_run, run * per_run + per_run, [&] { flash2_tile(); });
      step(job_.d, [&] { save_run(run); });
    }
    this->enter(0, 0, block_first_, block_end_);
    merge_runs();
  }

  /// The sink's share of l, and what an algorithm that keeps O normalised owes it.
  ATTOSCOPE_ANYWHERE void finish() {
    if (normalises_P(job_.method.algorithm) || !job_.has_sink) return;
    const bool normalised = job_.method.algorithm == Algorithm::flash1;
    step(2 * job_.d, [&] {
      for (int r = 0; r < vectors; ++r) vec(sum_)[r] = vec(l_)[r];
      add_sink();
      for (int i = 0; normalised && i < job_.d * vectors; ++i)
        vec(o_)[i] = vec(o_)[i] * vec(sum_)[i % vectors] / vec(l_)[i % vectors];
    });
  }

  /// The output from the final state: O/l, or O itself where it is normalised; 0 in rows that see no key.
  ATTOSCOPE_ANYWHERE void store_output(double* out) {
    const bool divides = !normalises_P(job_.method.algorithm) && job_.method.algorithm != Algorithm::flash1;
    const auto o = vec(o_), l = vec(l_);
    this->enter(0, 0, block_first_, block_end_);
    if (divides) {
      fill_columns(o_, Step::output, [&](int i, int r) { return o[i] / l[r]; }, 0);
    } else {
      round_columns(o_, Step::output, 0);
    }
    for (int lane = 0; lane < block_.count; ++lane) {
      const bool blind = job_.keys_of(block_.rows[lane]).empty();
      for (int c = 0; c < job_.d; ++c)
        out[static_cast<std::ptrdiff_t>(lane) * job_.d + c] = blind ? 0 : static_cast<double>(o_[c * R + lane]);
    }
    if constexpr (requires(const Watch& w, const T* x) { w.state(block_, x, x); }) report_state();
  }

  /// m and l to a watch that asks for them: of split_kv a log-sum-exp and what is beside it, 1 in rows of one run.
  ATTOSCOPE_ANYWHERE void report_state() {
    const V one = splat<V>(1);
    for (int r = 0; runs_ > 0 && r < vectors; ++r) {
      const V lone = lone_log_sum_exp(vec(m_)[r], vec(l_)[r]);
      vec(m_)[r] = vec(runs_of_)[r] > one ? vec(m_)[r] : lone;
      vec(l_)[r] = vec(runs_of_)[r] > one ? vec(l_)[r] : one;
    }
    this->watch_.state(block_, first_of(m_), first_of(l_));
  }

  // --- their parts ----------------------------------------------------------------------------------------------------

  ATTOSCOPE_ANYWHERE static bool same(const RounderPlan<T>& x, const RounderPlan<T>& y) {
    return x.kind == y.kind && x.format == y.format;
  }

  ATTOSCOPE_ANYWHERE bool sums_P() const { return job_.method.precision.sum_rounded_P; }

  ATTOSCOPE_ANYWHERE void round_normalised_O() {
    if (!job_.method.precision.accumulate_in_O) round_columns(o_, Step::PV, 0);
    round_columns(o_, Step::O, 0);
  }

  /// l = round(round(alpha * l) + tile sum), with Kahan's correction where asked for.
  ATTOSCOPE_ANYWHERE void update_l() {
    const V one = splat<V>(1);
    V rescaled[vectors], lost[vectors];
    with(Step::rescaled, [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) {
        rescaled[r] = rounder(vec(alpha_)[r] * vec(l_)[r], Where{r, tile_, -1});
        lost[r] = vec(alpha_)[r] * vec(l_lost_)[r];
      }
    });
    const bool kahan = job_.method.kahan_l;
    with(Step::l, [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) {
        const V y = kahan ? vec(sum_)[r] - lost[r] : vec(sum_)[r];
        const V next = rounder(rescaled[r] + y, Where{r, tile_, 0});
        if (kahan) vec(l_lost_)[r] = active(r) == one ? (next - rescaled[r]) - y : vec(l_lost_)[r];
        vec(l_)[r] = active(r) == one ? next : vec(l_)[r];
      }
    });
  }

  /// O = round(alpha * O).
  ATTOSCOPE_ANYWHERE void rescale_O() {
    if (this->any_rescale() || !rescale_by_1_is_free_)
      fill_columns(o_, Step::rescaled, [o = vec(o_), alpha = vec(alpha_)](int i, int r) { return alpha[r] * o[i]; }, tile_);
  }

  /// O = round(rescaled O + P.V), or what P.V continued in it.
  ATTOSCOPE_ANYWHERE void update_O() {
    if (job_.method.precision.accumulate_in_O) {
      round_columns(o_, Step::O, tile_);
      return;
    }
    round_columns(pv_, Step::PV, tile_);
    fill_columns(o_, Step::O, [o = vec(o_), pv = vec(pv_)](int i, int) { return o[i] + pv[i]; }, tile_);
  }

  /// l = round(alpha l + beta l~); O = round((alpha l O + beta P.V) / l) with beta = round(exp(m~ - m)).
  ATTOSCOPE_APART void merge_tile() {
    const V one = splat<V>(1);
    V old_share[vectors];
    fill_rows(m_tile_, Step::alpha, [&](int r) { return this->factor(vec(m_tile_)[r] - vec(m_)[r]); }, 1);
    with(Step::rescaled, [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) {
        old_share[r] = rounder(vec(alpha_)[r] * vec(l_)[r], Where{r, tile_, -1});
        vec(sum_)[r] = rounder(vec(m_tile_)[r] * vec(sum_)[r], Where{r, tile_, -2});
      }
      for (int c = 0; c < job_.d; ++c)
        for (int r = 0; r < vectors; ++r) {
          V& pv = vec(pv_)[c * vectors + r];
          V& o = vec(o_)[c * vectors + r];
          pv = rounder(vec(m_tile_)[r] * pv, Where{r, c, -1 - tile_});
          o = active(r) == one ? rounder(old_share[r] * o, Where{r, c, tile_}) : o;
        }
    });
    with(Step::l, [&](auto rounder) {
      for (int r = 0; r < vectors; ++r)
        vec(l_)[r] = active(r) == one ? rounder(old_share[r] + vec(sum_)[r], Where{r, tile_, 0}) : vec(l_)[r];
    });
    fill_columns(o_, Step::O, [o = vec(o_), pv = vec(pv_), l = vec(l_)](int i, int r) { return (o[i] + pv[i]) / l[r]; }, tile_);
  }

  /// l = round(l + round(exp(round(sink - m)))).
  ATTOSCOPE_APART void add_sink() {
    if (!job_.has_sink) return;
    this->enter(0, 0, block_first_, block_end_);  // which tile was the block's last must not reach the dice
    const Array share = m_tile_;
    fill_rows(share, Step::shifted, [&](int r) { return is_merged(r, job_.sink - vec(m_)[r], sink_exponent(r)); }, -1);
    const T lift = power_of_two<T>(job_.method.p_exponent);
    fill_rows(
        share, Step::e,
        [&](int r) {
          const V x = vec(share)[r], lone = (this->exp2() ? exponential2(x) : exponential(x)) * lift;
          return is_merged(r, exponential(x), lone);
        },
        -1);
    fill_rows(l_, Step::l, [&](int r) { return vec(l_)[r] + vec(share)[r]; }, -1);
  }
  ATTOSCOPE_ANYWHERE V sink_exponent(int r) const {
    if (!this->exp2()) return job_.sink - vec(m_)[r];
    const V log2_e = splat<V>(static_cast<T>(0x1.71547652b82fep+0));
    return fused(splat<V>(job_.sink), log2_e, -(vec(m_)[r] * job_.exp2_scale));
  }
  /// `merged` in the rows whose state is a merge of several runs.
  ATTOSCOPE_ANYWHERE V is_merged(int r, V merged, V otherwise) const {
    return runs_ > 0 ? (vec(runs_of_)[r] > splat<V>(1) ? merged : otherwise) : otherwise;
  }

  // --- split_kv -------------------------------------------------------------------------------------------------------

  ATTOSCOPE_ANYWHERE Array run_m(int run) { return run_state_ + run * 3 * R; }
  ATTOSCOPE_ANYWHERE Array run_l(int run) { return run_m(run) + R; }
  ATTOSCOPE_ANYWHERE Array run_started(int run) { return run_m(run) + 2 * R; }
  ATTOSCOPE_ANYWHERE Array run_o(int run) { return run_o_ + static_cast<std::ptrdiff_t>(run) * job_.d * R; }

  ATTOSCOPE_ANYWHERE void save_run(int run) {
    for (int i = 0; i < R; ++i) {
      run_m(run)[i] = m_[i];
      run_l(run)[i] = l_[i];
      run_started(run)[i] = started_[i];
    }
    for (int i = 0; i < job_.d * R; ++i) run_o(run)[i] = o_[i];
  }

  /// The runs' common state. A row with keys in one run only has that run's state; with several, m is the largest
  /// log-sum-exp, l and O are the sums of w and w * (O/l), w = round(exp(lse - m)), in ascending order of the runs.
  ATTOSCOPE_ANYWHERE void merge_runs() {
    step(32 * runs_ + job_.d, [&] { begin_merge(); });
    for (int run = 0; run < runs_; ++run) step(8 * job_.d, [&] { add_run(run); });
    for (int run = 0; run < runs_; ++run) step(job_.d, [&] { restore_single(run); });
  }

  ATTOSCOPE_ANYWHERE void begin_merge() {
    for (int r = 0; r < vectors; ++r) {
      V m = splat<V>(-infinity), count{};
      for (int run = 0; run < runs_; ++run) {
        const V lse = log_sum_exp(run, r);
        m = lse > m ? lse : m;
        count = count + vec(run_started(run))[r];
      }
      vec(m_)[r] = m;
      vec(l_)[r] = V{};
      vec(runs_of_)[r] = count;
    }
    for (int i = 0; i < job_.d * vectors; ++i) vec(o_)[i] = V{};
  }

  /// Puts back what a run left in the rows that have no other.
  ATTOSCOPE_ANYWHERE void restore_single(int run) {
    const V one = splat<V>(1);
    for (int r = 0; r < vectors; ++r) {
      const V single = vec(run_started(run))[r] == one ? vec(runs_of_)[r] : V{};
      vec(m_)[r] = single == one ? vec(run_m(run))[r] : vec(m_)[r];
      vec(l_)[r] = single == one ? vec(run_l(run))[r] : vec(l_)[r];
      for (int c = 0; c < job_.d; ++c) {
        V& o = vec(o_)[c * vectors + r];
        o = single == one ? vec(run_o(run))[c * vectors + r] : o;
      }
    }
  }

  /// The log-sum-exp of a run; -infinity without keys.
  ATTOSCOPE_ANYWHERE V log_sum_exp(int run, int r) {
    const V lse = lone_log_sum_exp(vec(run_m(run))[r], vec(run_l(run))[r]);
    return vec(run_started(run))[r] == splat<V>(1) ? lse : splat<V>(-infinity);
  }
  ATTOSCOPE_ANYWHERE V lone_log_sum_exp(V m, V l) const {
    const T lift = static_cast<T>(job_.method.p_exponent) * static_cast<T>(0x1.62e42fefa39efp-1);
    return m * job_.score_unit + (logarithm(l) - lift);
  }

  ATTOSCOPE_ANYWHERE void add_run(int run) {
    fill_rows(alpha_, Step::alpha, [&](int r) { return exponential(log_sum_exp(run, r) - vec(m_)[r]); }, -2 - run);
    const auto o = vec(run_o(run)), l = vec(run_l(run)), started = vec(run_started(run));
    const V one = splat<V>(1);
    with(Step::rescaled, [&](auto rounder) {
      for (int c = 0; c < job_.d; ++c)
        for (int r = 0; r < vectors; ++r)
          vec(pv_)[c * vectors + r] = rounder(vec(alpha_)[r] * (o[c * vectors + r] / l[r]), Where{r, c, -2 - run});
    });
    with(Step::l, [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) {
        const V next = rounder(vec(l_)[r] + vec(alpha_)[r], Where{r, run, -2});
        vec(l_)[r] = started[r] == one ? next : vec(l_)[r];
      }
    });
    with(Step::O, [&](auto rounder) {
      for (int c = 0; c < job_.d; ++c)
        for (int r = 0; r < vectors; ++r) {
          V& sum = vec(o_)[c * vectors + r];
          const V next = rounder(sum + vec(pv_)[c * vectors + r], Where{r, c, -2 - run});
          sum = started[r] == one ? next : sum;
        }
    });
  }

  int runs_ = 0;
  bool rescale_by_1_is_free_ = true;
  Array run_state_, run_o_, runs_of_;
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
