/// The steps shared by all algorithms, for one block of query rows; every result is rounded as the job requires. Results pass
/// from one work item to the next in the lanes' arrays: a launch may end between any two items or pieces of keys.
#pragma once

#include "kernels/lanes/scores.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

ATTOSCOPE_HOST_DEVICE constexpr int clamp(int x, int low, int high) { return x < low ? low : (x > high ? high : x); }

template <class T, class Observer>
class TileSteps : protected Scores<T, Observer> {
 protected:
  using Base = Scores<T, Observer>;
  using Base::Base;
  using Base::job_, Base::group_, Base::observer_, Base::cursor_, Base::costs_, Base::rows_, Base::tile_, Base::state_,
      Base::scratch_, Base::held_, Base::kept_;
  using Base::R, Base::vectors, Base::infinity;
  using Base::scores_again, Base::hide, Base::again, Base::accumulate, Base::known_ranges;
  using Base::tile_max, Base::tile_sum;
  using Base::vec, Base::active, Base::random, Base::keys, Base::keep, Base::with, Base::fill_rows, Base::fill_keys,
      Base::fill_columns, Base::round_keys, Base::if_due, Base::each_piece;
  using typename Base::Array, typename Base::L, typename Base::V, typename Base::Cursor;

  // --- the running max ------------------------------------------------------------------------------------------------

  /// m = round(max(m, max S)); m_old is the previous m. flash4 keeps an outdated m that is at most tau (in log2) too small.
  ATTOSCOPE_HOST_DEVICE void running_max() {
    const V one = splat<V>(1);
    for (int r = 0; r < vectors; ++r) {
      const V m = vec(scratch_.m_old)[r] = vec(state_.m)[r];
      vec(state_.m)[r] = vec(tile_max())[r] > m ? vec(tile_max())[r] : m;
    }
    if (this->rounds(Step::m)) fill_rows(state_.m, Step::m, [this](int r) { return vec(state_.m)[r]; });
    for (int r = 0; r < vectors; ++r) {
      vec(state_.m)[r] = active(r) == one ? vec(state_.m)[r] : vec(scratch_.m_old)[r];
      if (job_.method.algorithm != Algorithm::flash4) continue;
      const V rise = (vec(state_.m)[r] - vec(scratch_.m_old)[r]) * job_.exp2.scale;
      const V kept = rise <= static_cast<T>(job_.method.tau) ? vec(scratch_.m_old)[r] : vec(state_.m)[r];
      vec(state_.m)[r] = vec(state_.started)[r] == one ? kept : vec(state_.m)[r];
    }
  }

  ATTOSCOPE_HOST_DEVICE bool exp2() const { return job_.method.exponential == ExponentialKind::exp2; }
  ATTOSCOPE_HOST_DEVICE V factor(V difference) const {
    return exp2() ? exponential2(difference * job_.exp2.scale) : exponential(difference);
  }

  /// alpha = round(exp(m_old - m_new)); 1 if nothing is to be rescaled: in a row's first tile and in idle rows.
  ATTOSCOPE_HOST_DEVICE void rescale_factors() {
    const V one = splat<V>(1);
    fill_rows(scratch_.alpha, Step::alpha, [&](int r) { return factor(vec(scratch_.m_old)[r] - vec(state_.m)[r]); });
    for (int r = 0; r < vectors; ++r) {
      const V applies = active(r) * vec(state_.started)[r];
      vec(scratch_.alpha)[r] = applies == one ? vec(scratch_.alpha)[r] : one;
      vec(state_.started)[r] = vec(state_.started)[r] < active(r) ? one : vec(state_.started)[r];
    }
  }
  ATTOSCOPE_HOST_DEVICE bool any_rescale() const {
    bool any = false;
    for (int r = 0; r < vectors; ++r)
      for (int lane = 0; lane < L::width; ++lane) any |= !(lane_of(vec(scratch_.alpha)[r], lane) == T{1});
    return any;
  }

  // --- P and its sum --------------------------------------------------------------------------------------------------

  /// Replaces S by e = round(exp(round(S - m))), times 2^p_exponent; 0 for keys that the row does not see.
  ATTOSCOPE_HOST_DEVICE_NOINLINE void exponentials(Array m) {
    const auto s = vec(scratch_.S);
    const auto max = vec(m);
    const int degree = job_.method.exp2_degree;
    if (exp2()) {
      const V c = splat<V>(job_.exp2.scale), shift = splat<V>(job_.exp2.shift);
      V below[vectors];
      for (int r = 0; r < vectors; ++r) below[r] = -(max[r] * c - shift);
      fill_keys(Step::shifted, [&](int i, int r) { return fused(s[i], c, below[r]); });
      if (degree == 0) {
        each_number([s](int i) { s[i] = exponential2(s[i]); });
      } else {
        each_number([s, degree](int i) { s[i] = exponential2_polynomial(s[i], degree); });
      }
    } else if (this->rounds(Step::shifted)) {
      fill_keys(Step::shifted, [&](int i, int r) { return s[i] - max[r]; });
      each_number([s](int i) { s[i] = exponential(s[i]); });
    } else {
      plain_exponentials(m);
    }
    if (job_.P.lift != 1) each_number([s, lift = job_.P.lift](int i) { s[i] = s[i] * lift; });
    round_keys(Step::e);
    hide(T{0});
    keep(kept_.e);
  }

  ATTOSCOPE_HOST_DEVICE void plain_exponentials(Array m) {
    const auto s = vec(scratch_.S);
    const auto max = vec(m);
    group_.each_own(keys(), [&](int j, int end) {
      if constexpr (Lane<V>::emulates_fma) {  // many operations, each dependent on the previous one
        constexpr int count = 4;
        static_assert(count % vectors == 0);
        for (; j + count / vectors <= end; j += count / vectors) {
          Several<V, count> x;
          for (int i = 0; i < count; ++i) x.x[i] = s[j * vectors + i] - max[i % vectors];
          x = exponential(x);
          for (int i = 0; i < count; ++i) s[j * vectors + i] = x.x[i];
        }
      }
      ATTOSCOPE_UNROLL(unroll 2)
      for (; j < end; ++j)
        for (int r = 0; r < vectors; ++r) s[j * vectors + r] = exponential(s[j * vectors + r] - max[r]);
    });
  }
  /// Calls f(i) for the numbers of the warp's keys of the piece.
  template <class F>
  ATTOSCOPE_HOST_DEVICE void each_number(F f) const {
    group_.each_own(keys(), [&](int first, int end) {
      ATTOSCOPE_UNROLL(unroll 4)
      for (int i = first * vectors; i < end * vectors; ++i) f(i);
    });
  }

  ATTOSCOPE_HOST_DEVICE void round_P() {
    if (job_.P.factor != 1) each_number([s = vec(scratch_.S), factor = job_.P.factor](int i) { s[i] = s[i] * factor; });
    if (job_.P.block != 0) {
      round_blocks_of_P();
    } else {
      round_keys(Step::P);
    }
    keep(kept_.P);
  }

  /// Rounds P in blocks of keys, counted from the tile's first key: elements times their block's scale.
  ATTOSCOPE_HOST_DEVICE_NOINLINE void round_blocks_of_P() {
    const MagicRounder<T> element(job_.P.element);
    group_.sync();  // blocks differ from the ranges of keys that the warps computed
    for (int j = group_.warp() * job_.P.block; j < keys(); j += group_.warps() * job_.P.block)
      for (int r = 0; r < vectors; ++r) {
        const int end = keys() - j > job_.P.block ? j + job_.P.block : keys();
        const auto s = vec(scratch_.S) + r;
        V amax{};
        for (int i = j; i < end; ++i) amax = s[i * vectors] > amax ? s[i * vectors] : amax;
        const V exact = unrounded_scale(amax), scale = rounded_scale(exact);
        const V by = job_.P.quotient == Quotient::unrounded ? (exact > T{0} ? exact : scale) : scale;
        for (int i = j; i < end; ++i) {
          const V given = s[i * vectors], quotient = given / by, stored = element(quotient);
          s[i * vectors] = stored * scale;
          if constexpr (records_roundings) observer_.log->store(tile_.j0 + i, given, quotient, stored, scale);
        }
      }
  }

  /// The scale of a block of P, not yet rounded to its format; 0 if the power of 2 is not a normal number.
  ATTOSCOPE_HOST_DEVICE V unrounded_scale(V amax) const {
    const V most = splat<V>(job_.P.element.largest), quotient = amax / most;
    if (job_.P.rule == ScaleRule::amax) return quotient;
    using Int = typename Lane<V>::Int;
    const V whole = job_.P.rule == ScaleRule::floor ? amax * power_of_two<T>(-job_.P.largest_exponent) : quotient;
    const Int power = bits_of(whole) & static_cast<typename Lane<T>::Int>(Layout<T>::infinity);
    const V below = from_bits<V>(power);
    if (job_.P.rule == ScaleRule::floor) return below;
    return below < whole ? below + below : below;
  }
  ATTOSCOPE_HOST_DEVICE V rounded_scale(V exact) const {
    const bool small = job_.P.scale == ScaleFormat::e4m3_scale;
    const T least = small ? power_of_two<T>(-9) : power_of_two<T>(-126);
    const V scale = small ? MagicRounder<T>(job_.P.scale_plan)(exact) : exact;
    return scale > least ? scale : splat<V>(least);
  }

  /// P = round(e / l).
  ATTOSCOPE_HOST_DEVICE void normalise() {
    fill_keys(Step::P, [s = vec(scratch_.S), l = vec(state_.l)](int i, int r) { return s[i] / l[r]; });
    hide(T{0});
    keep(kept_.P);
  }

  /// Options of a sweep over the tile's keys, which always computes e.
  struct Sweep {
    bool sums = false;        ///< tile_sum = round(sum of e): rounded by l_step after every addition, by tile_sum at the end
    bool sums_P = false;      ///< the sum is of P instead of e
    bool e_is_P = false;      ///< the recorder gets e as P, too
    bool rounds_P = false;    ///< P = round(e)
    bool normalises = false;  ///< P = round(e / l)
    bool multiplies = false;  ///< target = P.V, from 0 or added to target's contents
  };

  /// Computes e of the tile's keys with max `m`, piece by piece, and the other parts of `sweep`. Recomputes S and e if they are
  /// no longer held.
  ATTOSCOPE_HOST_DEVICE_NOINLINE void sweep_keys(Array m, const Sweep& sweep, Array target = {}, bool resume = false) {
    if (sweep.sums)
      if_due(1, [&] {
        for (int r = 0; r < vectors; ++r) vec(tile_sum())[r] = vec(scratch_.sum_lost)[r] = V{};
      });
    const Array sums = resume ? scratch_.PV : target;
    const bool all = each_piece(cost_of(sweep), [&] {
      if (!held_.e) {
        if (!held_.S) scores_again();
        exponentials(m);
      }
      if (sweep.sums && !sweep.sums_P) extend_sums();
      if (sweep.e_is_P) keep(kept_.P);
      if (sweep.rounds_P) round_P();
      if (sweep.normalises) normalise();
      if (sweep.sums && sweep.sums_P) extend_sums();
      if (sweep.multiplies) has_ordered_values() ? ordered_columns(sums) : weighted_values(target, resume || tile_.piece > 0);
    });
    held_.S = false;
    held_.e = held_.has_room && all && !sweep.rounds_P && !sweep.normalises;
    if (sweep.sums)
      if_due(1, [&] {
        hand_over(tile_sum());
        fill_rows(tile_sum(), Step::tile_sum, [&](int r) { return vec(tile_sum())[r]; });
      });
    if (sweep.multiplies && has_ordered_values()) end_ordered_values(target, resume);
  }

  /// Cost of a sweep per key.
  ATTOSCOPE_HOST_DEVICE std::int64_t cost_of(const Sweep& sweep) const {
    return again() + costs_.weight() + (sweep.sums && is_ordered() ? costs_.ordered_sum() : 0) +
           (sweep.normalises ? costs_.share() : 0) + (sweep.multiplies ? costs_.value() : 0);
  }
  ATTOSCOPE_HOST_DEVICE bool is_ordered() const { return job_.method.order != SumOrder::sequential; }
  ATTOSCOPE_HOST_DEVICE bool has_ordered_values() const { return is_ordered() && job_.pv_sum.accumulator == Accumulator::fma; }

  /// Copies x from the leading warp to the others.
  ATTOSCOPE_HOST_DEVICE void hand_over(Array x) {
    if constexpr (has_teams) {
      group_.sync();
      if (group_.leads()) scratch_.shared[0] = x[0];
      group_.sync();
      x[0] = scratch_.shared[0];
    }
  }

  /// Continues the row sums over the piece's keys. One warp computes each row's chain.
  ATTOSCOPE_HOST_DEVICE void extend_sums() {
    group_.sync();
    if (group_.leads())
      with(Step::l_step, [&](auto rounder) {
        for (int r = 0; r < vectors; ++r)
          job_.method.kahan_l ? extend_kahan(rounder, r) : is_ordered() ? extend_ordered(rounder, r) : extend_chain(rounder, r);
      });
    group_.sync();
  }

  template <class Rounder>
  ATTOSCOPE_HOST_DEVICE void extend_ordered(Rounder rounder, int r) {
    OrderedSum<V, Rounder> sum(job_.method.order, job_.method.sum_lanes, tile_.j0 - tile_.first_key, rounder, r, tile_.index,
                               tile_.first_key);
    const auto parts = vec(scratch_.parts + r * this->parts_of_a_sum() * L::width);
    if (tile_.piece != 0) sum.resume(parts);
    auto s = vec(scratch_.S) + r;
    for (int j = 0; j < keys(); ++j, s += vectors) sum.add(*s);
    sum.keep(parts);
    vec(tile_sum())[r] = sum.total();
  }

  template <class Rounder>
  ATTOSCOPE_HOST_DEVICE void extend_chain(Rounder rounder, int r) const {
    V sum = vec(tile_sum())[r];
    auto s = vec(scratch_.S) + r;
    for (int j = 0; j < keys(); ++j, s += vectors) sum = rounder(sum + *s, RoundingKey{r, tile_.j0 + j, 0});
    vec(tile_sum())[r] = sum;
  }

  template <class Rounder>
  ATTOSCOPE_HOST_DEVICE void extend_kahan(Rounder rounder, int r) const {
    V sum = vec(tile_sum())[r], lost = vec(scratch_.sum_lost)[r];
    auto s = vec(scratch_.S) + r;
    for (int j = 0; j < keys(); ++j, s += vectors) {
      const V sum_before = sum, lost_before = lost;
      const V y = rounder(*s - lost, RoundingKey{r, tile_.j0 + j, 1}), next = rounder(sum + y, RoundingKey{r, tile_.j0 + j, 2});
      const V next_lost = rounder(rounder(next - sum, RoundingKey{r, tile_.j0 + j, 3}) - y, RoundingKey{r, tile_.j0 + j, 4});
      const V key = splat<V>(static_cast<T>(tile_.j0 + j)), first = vec(rows_.first)[r], end = vec(rows_.end)[r];
      lost = key < first ? lost : (key < end ? next_lost : lost);  // unseen keys must not add a lost part either
      sum = key < first ? sum : (key < end ? next : sum);
      for (int lane = 0; job_.mask_tensor.terms != nullptr && lane < L::width; ++lane) {
        const int row = static_cast<int>(rows_.number[r * L::width + lane]);
        if (mask_term(job_, row, tile_.j0 + j) > -std::numeric_limits<double>::infinity()) continue;
        set_lane(sum, lane, lane_of(sum_before, lane));
        set_lane(lost, lane, lane_of(lost_before, lane));
      }
    }
    vec(tile_sum())[r] = sum;
    vec(scratch_.sum_lost)[r] = lost;
  }

  // --- P.V ------------------------------------------------------------------------------------------------------------

  /// target = P.V over the piece's keys, from 0 or added to target's contents.
  ATTOSCOPE_HOST_DEVICE void weighted_values(Array target, bool resume) {
    if constexpr (std::is_same_v<T, float>)
      if (job_.pv_sum.accumulator != Accumulator::fma) return accumulated_values(target, resume);
    int middle = clamp(rows_.all.first, tile_.j0, tile_.j1), last = clamp(rows_.all.end, tile_.j0, tile_.j1);
    if (last < middle) last = middle = tile_.j1;
    for (int j = tile_.j0, end = 0; j < tile_.j1; j = end) {
      const bool masked = j < middle || j >= last;
      end = j < middle ? middle : (masked ? tile_.j1 : last);
      bool alone = false;
      if constexpr (!has_teams) {
        if (job_.mask_tensor.terms != nullptr) {
          const int next = next_alone(j, end);
          alone = next == j;
          end = alone ? j + 1 : next;
        }
      }
      weighted_chunk(j, end, target, resume || j > tile_.j0, masked || alone, alone);
    }
  }

  bool is_dropped(int lane, int key) const {
    return mask_term(job_, static_cast<int>(rows_.number[lane]), key) == -std::numeric_limits<double>::infinity();
  }
  /// The first of the keys [key, end) whose V is NaN or infinite and that some row drops: its P = 0 must not multiply them.
  int next_alone(int key, int end) const {
    if (job_.ranges.v.largest < std::numeric_limits<double>::infinity()) return end;
    const auto finite = [this](int j) {
      const T* const v = job_.v + static_cast<std::ptrdiff_t>(j) * job_.d_v;
      for (int c = 0; c < job_.d_v; ++c)
        if (v[c] - v[c] != 0) return false;
      return true;
    };
    const auto dropped = [this](int j) {
      for (int lane = 0; lane < R; ++lane)
        if (is_dropped(lane, j)) return true;
      return false;
    };
    while (key < end && (finite(key) || !dropped(key))) ++key;
    return key;
  }

  ATTOSCOPE_HOST_DEVICE void weighted_chunk(int j0, int j1, Array target, bool resume, bool masked,
                                            [[maybe_unused]] bool alone) {
    auto pv = values_of(j0, j1, target);
    pv.resume = resume;
    if (masked) {
      mask(pv, j0);
      if constexpr (!has_teams)
        for (int lane = 0; alone && lane < R; ++lane)
          if (is_dropped(lane, j0)) scratch_.to[lane] = 0;
      product<true>(pv, job_[Step::pv_step], pv_in_domain(pv));
    } else {
      product<false>(pv, job_[Step::pv_step], pv_in_domain(pv));
    }
  }

  /// P.V by tensor cores. Blocks start at the tile's first key, and pieces of keys end at block boundaries; a row that sees
  /// none of the tile's keys keeps its sums.
  ATTOSCOPE_HOST_DEVICE void accumulated_values(Array target, bool resume) {
    auto pv = values_of(tile_.j0, tile_.j1, target);
    pv.resume = resume;
    mask(pv, tile_.j0);
    accumulate(pv, job_.pv_sum, (tile_.j0 - tile_.first_key) % job_.pv_sum.block, tile_.any_idle ? tile_.active : Array{});
  }

  /// On a GPU, computes the piece's P.V into `sums` in an order other than sequential: column by column, with partial sums kept
  /// between pieces.
  ATTOSCOPE_HOST_DEVICE void ordered_columns([[maybe_unused]] Array sums) {
    if constexpr (has_teams) {
      auto pv = values_of(tile_.j0, tile_.j1, sums);
      pv.resume = tile_.piece > 0;
      mask(pv, tile_.j0);
      ordered_product<true>(pv, job_[Step::pv_step], order_from(tile_.j0), [&](int column) {
        return scratch_.column_parts + static_cast<std::ptrdiff_t>(column) * this->parts_of_a_sum();
      });
    }
  }
  ATTOSCOPE_HOST_DEVICE TermOrder order_from(int key) const {
    return {job_.method.order, job_.method.sum_lanes, key - tile_.first_key};
  }

  /// Finishes the tile's P.V in an order other than sequential. A CPU computes all of it here. If `resume`, adds it to target.
  ATTOSCOPE_HOST_DEVICE void end_ordered_values(Array target, bool resume) {
    if constexpr (!has_teams) {
      auto pv = values_of(tile_.j0, tile_.j1, resume ? scratch_.PV : target);
      mask(pv, tile_.j0);
      ordered_product<false>(pv, job_[Step::pv_step], order_from(tile_.j0), [](int) { return 0; });
    }
    const auto add = [t = vec(target), p = vec(scratch_.PV)](int i, int) { return t[i] + p[i]; };
    if_due(job_.d_v, [&] {
      if (resume) fill_columns(target, Step::pv_step, add, -1 - tile_.index);
    });
  }

  ATTOSCOPE_HOST_DEVICE ValuesProduct<T> values_of(int j0, int j1, Array target) const {
    return {.a = job_.v + static_cast<std::ptrdiff_t>(j0) * job_.d_v,
            .m_stride = 1,
            .k_stride = job_.d_v,
            .b = scratch_.S + static_cast<std::ptrdiff_t>(j0 - tile_.j0) * R,
            .c = target,
            .m = job_.d_v,
            .depth = j1 - j0,
            .step = Step::pv_step,
            .random = random(),
            .first_k = j0,
            .group = group_,
            .ranges = known_ranges(true)};
  }
  ATTOSCOPE_HOST_DEVICE void mask(ValuesProduct<T>& pv, int j0) const {
    for (int r = 0; r < vectors; ++r) {
      vec(scratch_.from)[r] = vec(rows_.first)[r] - static_cast<T>(j0);
      vec(scratch_.to)[r] = vec(rows_.end)[r] - static_cast<T>(j0);
    }
    pv.first = scratch_.from;
    pv.end = scratch_.to;
  }

  /// True if ShortRounder may be used; equal in all lanes of the group. Each warp checks its own keys and columns.
  ATTOSCOPE_HOST_DEVICE bool pv_in_domain(const ValuesProduct<T>& pv) const {
    if (!job_[Step::pv_step].can_be_short) return false;
    group_.sync();  // P is complete
    return group_.all(own_pv_in_domain(pv));
  }
  ATTOSCOPE_HOST_DEVICE bool own_pv_in_domain(const ValuesProduct<T>& pv) const {
    bool all = true;
    group_.each_own(pv.depth, [&](int first, int end) {
      const Magnitudes p = magnitudes<T>(pv.b + first * R, (end - first) * vectors, job_[Step::P].mantissa_bits());
      all = all && products_in_domain(p, job_.ranges.v, pv.depth);
    });
    if (!all || !pv.resume) return all;
    group_.each_own(job_.d_v, [&](int first, int end) {
      all = all && in_domain(magnitudes<T>(pv.c + first * R, (end - first) * vectors, Layout<T>::mantissa_bits));
    });
    return all;
  }
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
