/// The steps that all algorithms are made of, for one block of query rows, a row in each lane; every result is rounded where
/// the job says. Letters are the papers'.
#pragma once

#include "kernels/job.h"
#include "kernels/scratch.h"
#include "kernels/short_domain.h"
#include "kernels/sum_order.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

ATTOSCOPE_ANYWHERE constexpr int clamp(int x, int low, int high) { return x < low ? low : (x > high ? high : x); }

/// How many keys one tile buffer must hold.
template <class T>
ATTOSCOPE_ANYWHERE inline int tile_keys(const Job<T>& job) {
  return job.method.algorithm == Algorithm::three_pass ? job.n : job.method.block_k;
}

/// Watch is told of every tile, and asked whether to go on: Watched, or TileNotes.
template <class T, class Watch>
class TileSteps {
 protected:
  using L = Lanes<T>;
  using V = typename L::V;
  using Array = LaneArray<T>;
  static constexpr int R = L::rows, vectors = L::vectors;
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  /// Keys whose P stays in the first-level cache while the columns of O pass by.
  static constexpr int key_chunk = 64;

  ATTOSCOPE_ANYWHERE TileSteps(const Job<T>& job, const RowBlock& block, const Crew& crew, const Watch& watch, LaneArena& arena)
      : job_(job), block_(block), crew_(crew), watch_(watch) {
    const std::size_t d = static_cast<std::size_t>(job.d) * R, keys = static_cast<std::size_t>(tile_keys(job));
    for (Array* matrix : {&q_, &o_, &pv_}) *matrix = arena.template take<T>(d);
    s_ = arena.template take<T>(keys * R);
    for (Array* row : {&m_, &m_old_, &m_tile_, &l_, &l_lost_, &alpha_, &sum_, &rows_, &first_, &end_, &from_, &to_, &started_, &active_})
      *row = arena.template take<T>(R);
    kept_ = watch_.kept_lane(block_);
    if constexpr (Watch::keeps)
      for (Array* kept : {&kept_S_, &kept_e_, &kept_P_}) *kept = arena.template take<T>(keys);
  }

  // --- the rows -------------------------------------------------------------------------------------------------------

  /// Q transposed into lanes, and the keys each row sees. Lanes without a row repeat the last one.
  ATTOSCOPE_ANYWHERE void load_rows() {
    block_first_ = full_end_ = job_.n;
    block_end_ = full_first_ = 0;
    for (int lane = 0; lane < R; ++lane) {
      const int row = block_.row_of(lane);
      const T* q = job_.q + static_cast<std::ptrdiff_t>(row) * job_.d;
      for (int c = 0; c < job_.d; ++c) q_[c * R + lane] = q[c];
      Keys keys = job_.keys_of(row);
      if (keys.empty()) keys = {-1, -1};  // in no tile
      rows_[lane] = static_cast<T>(row);
      first_[lane] = static_cast<T>(keys.first);
      end_[lane] = static_cast<T>(keys.end);
      full_first_ = keys.first > full_first_ ? keys.first : full_first_;
      full_end_ = keys.end < full_end_ ? keys.end : full_end_;
      if (keys.empty()) continue;
      block_first_ = keys.first < block_first_ ? keys.first : block_first_;
      block_end_ = keys.end > block_end_ ? keys.end : block_end_;
    }
    block_first_ = crew_.least(block_first_);
    full_end_ = crew_.least(full_end_);
    block_end_ = crew_.greatest(block_end_);
    full_first_ = crew_.greatest(full_first_);
  }

  /// The state before any key: m = -infinity, l = 0, O = 0.
  ATTOSCOPE_ANYWHERE void clear_state() {
    for (int lane = 0; lane < R; ++lane) {
      m_[lane] = -infinity;
      l_[lane] = l_lost_[lane] = started_[lane] = 0;
    }
    restarts_ = true;
    for (int i = 0; i < job_.d * R; ++i) o_[i] = 0;
  }

  /// Keys [j0, j1) of tile `tile` that some row of the block sees.
  ATTOSCOPE_ANYWHERE void enter_tile(int tile) {
    const std::int64_t begin = static_cast<std::int64_t>(tile) * job_.method.block_k, end = begin + job_.method.block_k;
    enter(tile, static_cast<int>(begin), begin > block_first_ ? static_cast<int>(begin) : block_first_,
          end < block_end_ ? static_cast<int>(end) : block_end_);
  }
  ATTOSCOPE_ANYWHERE void enter(int tile, int tile_first, int j0, int j1) {
    tile_ = tile;
    tile_first_ = tile_first;
    j0_ = j0;
    j1_ = j1;
    const V low = splat<V>(static_cast<T>(j0)), high = splat<V>(static_cast<T>(j1)), one = splat<V>(1), zero{};
    any_idle_ = false;
    for (int r = 0; r < vectors; ++r) {
      vec(active_)[r] = vec(first_)[r] < high ? (vec(end_)[r] > low ? one : zero) : zero;
      for (int lane = 0; lane < L::width; ++lane) any_idle_ |= lane_of(vec(active_)[r], lane) == T{0};
    }
  }
  ATTOSCOPE_ANYWHERE int keys() const { return j1_ - j0_; }
  /// Whether any row of the block sees any key.
  ATTOSCOPE_ANYWHERE bool sees_keys() const { return block_first_ < block_end_; }

  /// Calls work() for one piece of the tile's keys after the other, so that its S stays in the first-level cache between the
  /// steps; inside, the tile is that piece.
  template <class Work>
  ATTOSCOPE_ANYWHERE void each_piece(Work work) {
    const Array s = s_;
    const int j0 = j0_, j1 = j1_;
    for (int j = j0; j < j1; j += key_chunk) {
      watch_.check();
      j0_ = j;
      j1_ = j1 - j > key_chunk ? j + key_chunk : j1;
      piece_ = j - j0;
      s_ = s + static_cast<std::ptrdiff_t>(piece_) * R;
      work();
    }
    s_ = s;
    j0_ = j0;
    j1_ = j1;
    piece_ = 0;
  }

  /// Whether every row of the block sees all keys j0 .. j1-1.
  ATTOSCOPE_ANYWHERE bool all_visible(int j0, int j1) const { return full_first_ <= j0 && j1 <= full_end_; }

  ATTOSCOPE_ANYWHERE static auto vec(Array x) { return as_vectors(x); }
  ATTOSCOPE_ANYWHERE Dice<T> dice() const { return {job_.seed, rows_}; }
  ATTOSCOPE_ANYWHERE V active(int r) const { return vec(active_)[r]; }

  // --- rounding whole arrays ------------------------------------------------------------------------------------------

  template <class Use>
  ATTOSCOPE_ANYWHERE void with(Step step, Use&& use) const {
    with_rounder(job_[step], step, dice(), use);
  }
  /// x[r] = round(f(r)), one number a row; `k` tells several of a tile apart.
  template <class F>
  ATTOSCOPE_ANYWHERE void fill_rows(Array x, Step step, F f, int k = 0) const {
    with(step, [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) vec(x)[r] = rounder(f(r), Where{r, tile_, k});
    });
  }
  /// S[key] = round(f(i)) for the tile's keys.
  template <class F>
  ATTOSCOPE_ANYWHERE void fill_keys(Step step, F f) {
    const auto s = vec(s_);
    with(step, [&](auto rounder) {
      for (int j = 0; j < keys(); ++j)
        for (int r = 0; r < vectors; ++r) s[j * vectors + r] = rounder(f(j * vectors + r, r), Where{r, j0_ + j, 0});
    });
  }
  ATTOSCOPE_ANYWHERE void round_keys(Step step) {
    if (job_[step].rounds()) fill_keys(step, [s = vec(s_)](int i, int) { return s[i]; });
  }
  /// x[column] = round(f(i, r)), d numbers a row, in the rows that take part in the tile.
  template <class F>
  ATTOSCOPE_ANYWHERE void fill_columns(Array x, Step step, F f, int key) const {
    const auto out = vec(x);
    const V one = splat<V>(1);
    with(step, [&](auto rounder) {
      for (int c = 0; c < job_.d; ++c)
        for (int r = 0; r < vectors; ++r) {
          const V y = rounder(f(c * vectors + r, r), Where{r, c, key});
          out[c * vectors + r] = any_idle_ ? (active(r) == one ? y : out[c * vectors + r]) : y;
        }
    });
  }
  ATTOSCOPE_ANYWHERE void round_columns(Array x, Step step, int key) const {
    if (job_[step].rounds()) fill_columns(x, step, [v = vec(x)](int i, int) { return v[i]; }, key);
  }

  // --- scores and the max ---------------------------------------------------------------------------------------------

  /// S of the tile, -infinity where a row does not see the key, and its max in sum_; a NaN score never replaces. With a
  /// mitigation, a tied max is moved away from the ties.
  ATTOSCOPE_APART void scores() {
    for (int r = 0; r < vectors; ++r) vec(sum_)[r] = splat<V>(-infinity);
    each_piece([&] {
      products();
      const bool plain = !job_[Step::S].rounds() && job_.softcap == 0 && job_.alibi == 0 && all_visible(j0_, j1_);
      if (!plain) finish_scores();
      const V scale = splat<V>(plain ? job_.scale : T(1));
      for (int r = 0; r < vectors; ++r) {
        V m = vec(sum_)[r];
        auto s = vec(s_) + r;
        for (int j = 0; j < keys(); ++j, s += vectors) {
          if (plain) *s = scale * *s;
          m = *s > m ? *s : m;
        }
        vec(sum_)[r] = m;
      }
      keep(kept_S_);
    });
    if (job_.method.tie_beta == 0) return;
    for (int r = 0; r < vectors; ++r) vec(sum_)[r] = untied(vec(sum_)[r], r);
  }

  /// q.k of the piece.
  ATTOSCOPE_ANYWHERE void products() {
    const Product<T> qk{.a = job_.k + static_cast<std::ptrdiff_t>(j0_) * job_.d,
                        .m_stride = job_.d,
                        .k_stride = 1,
                        .b = q_,
                        .c = s_,
                        .m = keys(),
                        .depth = job_.d,
                        .step = Step::qk_step,
                        .dice = dice(),
                        .first_m = j0_,
                        .crew = crew_};
    if (job_.method.order == SumOrder::sequential) {
      product(qk, job_[Step::qk_step], products_in_domain(job_.q_range, job_.k_range, job_.d));
    } else {
      ordered_product(qk, job_[Step::qk_step], job_.method.order, job_.method.sum_lanes, 0);
    }
  }

  /// From q.k to S.
  ATTOSCOPE_ANYWHERE void finish_scores() {
    const V scale = splat<V>(job_.scale);
    if (job_.softcap == 0 && job_.alibi == 0) {
      fill_keys(Step::S, [s = vec(s_), scale](int i, int) { return scale * s[i]; });
    } else {
      fill_keys(Step::S, [this, s = vec(s_), scale](int i, int r) { return biased(scale * s[i], j0_ + i / vectors, r); });
    }
    hide(-infinity);
  }

  /// Soft-capping, then ALiBi's -slope * |row - key| by one fma.
  ATTOSCOPE_ANYWHERE V biased(V s, int key, int r) const {
    if (job_.softcap != 0) s = soft_capped(s, job_.softcap);
    if (job_.alibi == 0) return s;
    const V distance = vec(rows_)[r] - static_cast<T>(job_.reversed ? job_.n - 1 - key : key);
    return fused(distance < T{0} ? -distance : distance, splat<V>(-job_.alibi), s);
  }

  /// Puts `value` where a row does not see the key.
  ATTOSCOPE_ANYWHERE void hide(T value) {
    if (all_visible(j0_, j1_)) return;
    for (int j = j0_; j < j1_; ++j) {
      if (all_visible(j, j + 1)) continue;
      const V key = splat<V>(static_cast<T>(j)), hidden = splat<V>(value);
      const auto s = vec(s_) + static_cast<std::ptrdiff_t>(j - j0_) * vectors;
      for (int r = 0; r < vectors; ++r) s[r] = key < vec(first_)[r] ? hidden : (key < vec(end_)[r] ? s[r] : hidden);
    }
  }

  /// beta*m where m is tied and positive, 0 where it is tied and negative (arXiv 2510.04212).
  ATTOSCOPE_ANYWHERE V untied(V m, int r) const {
    const V one = splat<V>(1), beta = splat<V>(static_cast<T>(job_.method.tie_beta));
    V count{};
    auto s = vec(s_) + r;
    for (int j = 0; j < keys(); ++j, s += vectors) count = *s == m ? count + one : count;
    const V moved = m > T{0} ? beta * m : (m > -infinity ? (m < T{0} ? V{} : m) : m);  // hidden keys are -infinity too
    return count > one ? moved : m;
  }

  /// m = round(max(m, max S)), m_old what it was. flash4 keeps a stale m that is at most tau (in log2) too small.
  ATTOSCOPE_ANYWHERE void running_max() {
    const V one = splat<V>(1);
    for (int r = 0; r < vectors; ++r) {
      const V m = vec(m_old_)[r] = vec(m_)[r];
      vec(m_)[r] = vec(sum_)[r] > m ? vec(sum_)[r] : m;
    }
    if (job_[Step::m].rounds()) fill_rows(m_, Step::m, [this](int r) { return vec(m_)[r]; });
    for (int r = 0; r < vectors; ++r) {
      vec(m_)[r] = active(r) == one ? vec(m_)[r] : vec(m_old_)[r];
      if (job_.method.algorithm != Algorithm::flash4) continue;
      const V rise = (vec(m_)[r] - vec(m_old_)[r]) * log2_scale();
      const V kept = rise <= static_cast<T>(job_.method.tau) ? vec(m_old_)[r] : vec(m_)[r];
      vec(m_)[r] = vec(started_)[r] == one ? kept : vec(m_)[r];
    }
  }

  /// What turns a difference of S into a power of two.
  ATTOSCOPE_ANYWHERE T log2_scale() const { return exp2() ? job_.exp2_scale : static_cast<T>(0x1.71547652b82fep+0); }
  ATTOSCOPE_ANYWHERE bool exp2() const { return job_.method.exponential == ExponentialKind::exp2; }
  ATTOSCOPE_ANYWHERE V factor(V difference) const { return exp2() ? exponential2(difference * job_.exp2_scale) : exponential(difference); }

  /// alpha = round(exp(m_old - m_new)); 1 where there is nothing to rescale: on a row's first tile, and for idle rows.
  ATTOSCOPE_ANYWHERE void rescale_factors() {
    const V one = splat<V>(1);
    fill_rows(alpha_, Step::alpha, [&](int r) { return factor(vec(m_old_)[r] - vec(m_)[r]); });
    any_rescale_ = false;
    for (int r = 0; r < vectors; ++r) {
      const V applies = active(r) * vec(started_)[r];
      vec(alpha_)[r] = applies == one ? vec(alpha_)[r] : one;
      vec(started_)[r] = vec(started_)[r] < active(r) ? one : vec(started_)[r];
      for (int lane = 0; lane < L::width; ++lane) any_rescale_ |= !(lane_of(vec(alpha_)[r], lane) == T{1});
    }
  }

  // --- P and its sum --------------------------------------------------------------------------------------------------

  /// S becomes e = round(exp(round(S - m))), times 2^p_exponent; 0 where a row does not see the key.
  ATTOSCOPE_APART void exponentials(Array m) {
    const auto s = vec(s_);
    const auto max = vec(m);
    const int count = keys() * vectors, degree = job_.method.exp2_degree;
    if (exp2()) {
      const V c = splat<V>(job_.exp2_scale);
      fill_keys(Step::shifted, [&](int i, int r) { return fused(s[i], c, -(max[r] * c)); });
      if (degree == 0) {
        ATTOSCOPE_UNROLL(unroll 4)
        for (int i = 0; i < count; ++i) s[i] = exponential2(s[i]);
      } else {
        for (int i = 0; i < count; ++i) s[i] = exponential2_polynomial(s[i], degree);
      }
    } else if (job_[Step::shifted].rounds()) {
      fill_keys(Step::shifted, [&](int i, int r) { return s[i] - max[r]; });
      ATTOSCOPE_UNROLL(unroll 4)
      for (int i = 0; i < count; ++i) s[i] = exponential(s[i]);
    } else {
      ATTOSCOPE_UNROLL(unroll 2)
      for (int j = 0; j < keys(); ++j)
        for (int r = 0; r < vectors; ++r) s[j * vectors + r] = exponential(s[j * vectors + r] - max[r]);
    }
    if (job_.method.p_exponent != 0) {
      const T lift = power_of_two<T>(job_.method.p_exponent);
      for (int i = 0; i < count; ++i) s[i] = s[i] * lift;
    }
    round_keys(Step::e);
    hide(T{0});
    keep(kept_e_);
  }

  ATTOSCOPE_ANYWHERE void round_P() {
    round_keys(Step::P);
    keep(kept_P_);
  }

  /// P = round(e / l).
  ATTOSCOPE_ANYWHERE void normalise() {
    each_piece([&] {
      fill_keys(Step::P, [s = vec(s_), l = vec(l_)](int i, int r) { return s[i] / l[r]; });
      hide(T{0});
      keep(kept_P_);
    });
  }

  /// e, P and the row sum of the tile, which is P's if `sums_P`. sum_ = round(sum): after every addition by l_step, at the end
  /// by tile_sum. The exponent's max is `m`.
  ATTOSCOPE_APART void softmax_tile(Array m, bool rounds_P, bool sums_P) {
    V total[vectors] = {};
    if (job_.method.order == SumOrder::sequential && !job_.method.kahan_l) {
      each_piece([&] {
        exponentials(m);
        if (!sums_P) extend_sums(total);
        if (rounds_P) round_P();
        if (sums_P) extend_sums(total);
      });
    } else {
      each_piece([&] {
        exponentials(m);
        if (rounds_P && sums_P) round_P();
      });
      with(Step::l_step, [&](auto rounder) {
        for (int r = 0; r < vectors; ++r) total[r] = row_sum(rounder, r);
      });
      if (rounds_P && !sums_P) each_piece([&] { round_P(); });
    }
    fill_rows(sum_, Step::tile_sum, [&](int r) { return total[r]; });
  }

  /// The tile's row sum in an order of its own.
  template <class Rounder>
  ATTOSCOPE_ANYWHERE V row_sum(Rounder rounder, int r) const {
    auto s = vec(s_) + r;
    if (job_.method.kahan_l) return kahan_sum(rounder, s, r);
    OrderedSum<V, Rounder> sum(job_.method.order, job_.method.sum_lanes, j0_ - tile_first_, rounder, r, tile_, tile_first_);
    for (int j = 0; j < keys(); ++j, s += vectors) sum.add(*s);
    return sum.total();
  }

  ATTOSCOPE_ANYWHERE void extend_sums(V* total) const {
    with(Step::l_step, [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) {
        V sum = total[r];
        auto s = vec(s_) + r;
        for (int j = 0; j < keys(); ++j, s += vectors) sum = rounder(sum + *s, Where{r, j0_ + j, 0});
        total[r] = sum;
      }
    });
  }

  template <class Rounder, class Vectors>
  ATTOSCOPE_ANYWHERE V kahan_sum(Rounder rounder, Vectors s, int r) const {
    V sum{}, lost{};
    for (int j = 0; j < keys(); ++j, s += vectors) {
      const V y = rounder(*s - lost, Where{r, j0_ + j, 1}), next = rounder(sum + y, Where{r, j0_ + j, 2});
      const V next_lost = rounder(rounder(next - sum, Where{r, j0_ + j, 3}) - y, Where{r, j0_ + j, 4});
      const V key = splat<V>(static_cast<T>(j0_ + j)), first = vec(first_)[r], end = vec(end_)[r];
      lost = key < first ? lost : (key < end ? next_lost : lost);  // a key that the row does not see adds no lost part either
      sum = key < first ? sum : (key < end ? next : sum);
    }
    return sum;
  }

  /// Copies the kept lane of the tile for the recorder.
  ATTOSCOPE_ANYWHERE void keep(Array kept) const {
    if constexpr (Watch::keeps)
      for (int j = 0; kept_ >= 0 && j < keys(); ++j) kept[piece_ + j] = s_[static_cast<std::ptrdiff_t>(j) * R + kept_];
  }

  // --- P.V ------------------------------------------------------------------------------------------------------------

  /// target = P.V over the tile's keys, from 0 or continuing what target holds.
  ATTOSCOPE_APART void weighted_values(Array target, bool resume) {
    if (job_.method.order != SumOrder::sequential) {
      ordered_values(target, resume);
      return;
    }
    int middle = clamp(full_first_, j0_, j1_), last = clamp(full_end_, j0_, j1_);
    if (last < middle) last = middle = j1_;
    weighted_range(j0_, middle, target, resume, true);
    weighted_range(middle, last, target, resume, false);
    weighted_range(last, j1_, target, resume, true);
  }

  ATTOSCOPE_ANYWHERE void weighted_range(int j0, int j1, Array target, bool resume, bool masked) {
    for (int j = j0; j < j1; j += key_chunk) {
      watch_.check();
      Product<T> pv = values_of(j, j1 - j > key_chunk ? j + key_chunk : j1, target);
      pv.resume = resume || j > j0_;
      if (masked) {
        mask(pv, j);
        product<T, true>(pv, job_[Step::pv_step], pv_in_domain(pv));
      } else {
        product(pv, job_[Step::pv_step], pv_in_domain(pv));
      }
    }
  }

  /// In another order the tile's P.V is a sum of its own, which is then added to what target holds.
  ATTOSCOPE_ANYWHERE void ordered_values(Array target, bool resume) {
    Product<T> pv = values_of(j0_, j1_, resume ? pv_ : target);
    mask(pv, j0_);
    ordered_product(pv, job_[Step::pv_step], job_.method.order, job_.method.sum_lanes, j0_ - tile_first_);
    if (resume) fill_columns(target, Step::pv_step, [t = vec(target), p = vec(pv_)](int i, int) { return t[i] + p[i]; }, -1 - tile_);
  }

  ATTOSCOPE_ANYWHERE Product<T> values_of(int j0, int j1, Array target) const {
    return {.a = job_.v + static_cast<std::ptrdiff_t>(j0) * job_.d, .m_stride = 1, .k_stride = job_.d,
            .b = s_ + static_cast<std::ptrdiff_t>(j0 - j0_) * R, .c = target, .m = job_.d, .depth = j1 - j0,
            .step = Step::pv_step, .dice = dice(), .first_k = j0, .crew = crew_};
  }

  ATTOSCOPE_ANYWHERE void mask(Product<T>& pv, int j0) const {
    for (int r = 0; r < vectors; ++r) {
      vec(from_)[r] = vec(first_)[r] - static_cast<T>(j0);
      vec(to_)[r] = vec(end_)[r] - static_cast<T>(j0);
    }
    pv.first = from_;
    pv.end = to_;
  }

  /// The same in all lanes of the crew.
  ATTOSCOPE_ANYWHERE bool pv_in_domain(const Product<T>& pv) const { return job_[Step::pv_step].can_be_short && crew_.all(own_pv_in_domain(pv)); }
  ATTOSCOPE_ANYWHERE bool own_pv_in_domain(const Product<T>& pv) const {
    const Magnitudes p = magnitudes<T>(pv.b, pv.depth * vectors, job_[Step::P].mantissa_bits());
    if (!products_in_domain(p, job_.v_range, pv.depth)) return false;
    return !pv.resume || in_domain(magnitudes<T>(pv.c, job_.d * vectors, Layout<T>::mantissa_bits));
  }

  // --- what others see ------------------------------------------------------------------------------------------------

  ATTOSCOPE_ANYWHERE void report() {
    if (!watch_.wanted()) return;
    TileView<T> view{.tile = tile_, .first_key = j0_, .end_key = j1_, .stride = R * lane_stride, .lane_stride = lane_stride,
                     .m_old = first_of(m_old_), .m = first_of(m_), .l = first_of(l_), .alpha = first_of(alpha_),
                     .takes_part = first_of(active_), .o = first_of(o_)};
    if (Watch::keeps && kept_ >= 0) {
      view.S = first_of(kept_S_);
      view.e = first_of(kept_e_);
      view.P = first_of(kept_P_);
    }
    view.restarts = restarts_;
    restarts_ = false;
    watch_.tile(block_, view);
  }

  const Job<T>& job_;
  const RowBlock& block_;
  Crew crew_;
  Watch watch_;
  int kept_ = -1;
  int block_first_ = 0, block_end_ = 0;                  // keys that some row sees
  int full_first_ = 0, full_end_ = 0;                    // keys that every row sees (none where end <= first)
  int tile_ = 0, tile_first_ = 0, j0_ = 0, j1_ = 0;      // the tile, its first key, and its keys that some row sees
  int piece_ = 0;                                        // where the piece in hand starts among them
  bool any_rescale_ = false, any_idle_ = false, restarts_ = false;
  Array q_, o_, pv_, s_;
  Array m_, m_old_, m_tile_, l_, l_lost_, alpha_, sum_, rows_, first_, end_, from_, to_, started_, active_;
  Array kept_S_{}, kept_e_{}, kept_P_{};
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
