/// The steps that all algorithms are made of, for one block of query rows; every result is rounded where the job says. What one
/// step leaves to the next lies in the lanes' arrays, so that a launch may end between any two, and between any two pieces of
/// keys.
#pragma once

#include "kernels/block_rows.h"
#include "kernels/short_domain.h"
#include "kernels/sum_order.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

ATTOSCOPE_ANYWHERE constexpr int clamp(int x, int low, int high) { return x < low ? low : (x > high ? high : x); }

template <class T, class Watch>
class TileSteps : protected BlockRows<T, Watch> {
 protected:
  using Base = BlockRows<T, Watch>;
  using Base::Base;
  using Base::job_, Base::crew_, Base::watch_, Base::walk_, Base::costs_, Base::full_first_, Base::full_end_, Base::tile_,
      Base::tile_first_, Base::j0_, Base::j1_, Base::piece_, Base::q_, Base::pv_, Base::s_, Base::m_, Base::m_old_, Base::l_,
      Base::alpha_, Base::sum_, Base::sum_lost_, Base::rows_, Base::first_, Base::end_, Base::from_, Base::to_, Base::started_,
      Base::parts_, Base::kept_S_, Base::kept_e_, Base::kept_P_;
  using Base::R, Base::vectors, Base::infinity;
  using Base::vec, Base::active, Base::dice, Base::keys, Base::keep, Base::with, Base::fill_rows, Base::fill_keys,
      Base::fill_columns, Base::round_keys, Base::all_visible, Base::step, Base::each_piece;
  using typename Base::Array, typename Base::L, typename Base::V, typename Base::Walk;

  // --- scores and the max ---------------------------------------------------------------------------------------------

  /// S of the tile, -infinity where a row does not see the key, and its max in sum_; a NaN score never replaces. With a
  /// mitigation, a tied max is moved away from the ties.
  ATTOSCOPE_APART void scores() {
    step(1, [&] {
      for (int r = 0; r < vectors; ++r) vec(sum_)[r] = splat<V>(-infinity);
    });
    each_piece(costs_.score(), [&] {
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
    if (job_.method.tie_beta != 0) move_from_ties();
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
      ordered_product<false>(qk, job_[Step::qk_step], job_.method.order, job_.method.sum_lanes, 0, {});
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

  /// The max in sum_ becomes beta*m where it is tied and positive, 0 where it is tied and negative (arXiv 2510.04212).
  ATTOSCOPE_ANYWHERE void move_from_ties() {
    const V one = splat<V>(1), beta = splat<V>(static_cast<T>(job_.method.tie_beta));
    const Array ties = alpha_;  // has no value yet
    step(1, [&] {
      for (int r = 0; r < vectors; ++r) vec(ties)[r] = V{};
    });
    each_piece(2, [&] {
      for (int r = 0; r < vectors; ++r) {
        const V m = vec(sum_)[r];
        V count = vec(ties)[r];
        auto s = vec(s_) + r;
        for (int j = 0; j < keys(); ++j, s += vectors) count = *s == m ? count + one : count;
        vec(ties)[r] = count;
      }
    });
    step(1, [&] {
      for (int r = 0; r < vectors; ++r) {
        const V m = vec(sum_)[r];
        const V moved = m > T{0} ? beta * m : (m > -infinity ? (m < T{0} ? V{} : m) : m);  // hidden keys are -infinity too
        vec(sum_)[r] = vec(ties)[r] > one ? moved : m;
      }
    });
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
  ATTOSCOPE_ANYWHERE V factor(V difference) const {
    return exp2() ? exponential2(difference * job_.exp2_scale) : exponential(difference);
  }

  /// alpha = round(exp(m_old - m_new)); 1 where there is nothing to rescale: on a row's first tile, and for idle rows.
  ATTOSCOPE_ANYWHERE void rescale_factors() {
    const V one = splat<V>(1);
    fill_rows(alpha_, Step::alpha, [&](int r) { return factor(vec(m_old_)[r] - vec(m_)[r]); });
    for (int r = 0; r < vectors; ++r) {
      const V applies = active(r) * vec(started_)[r];
      vec(alpha_)[r] = applies == one ? vec(alpha_)[r] : one;
      vec(started_)[r] = vec(started_)[r] < active(r) ? one : vec(started_)[r];
    }
  }
  ATTOSCOPE_ANYWHERE bool any_rescale() const {
    bool any = false;
    for (int r = 0; r < vectors; ++r)
      for (int lane = 0; lane < L::width; ++lane) any |= !(lane_of(vec(alpha_)[r], lane) == T{1});
    return any;
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
    each_piece(costs_.share(), [&] {
      fill_keys(Step::P, [s = vec(s_), l = vec(l_)](int i, int r) { return s[i] / l[r]; });
      hide(T{0});
      keep(kept_P_);
    });
  }

  /// e, P and the row sum of the tile, which is P's if `sums_P`. sum_ = round(sum): after every addition by l_step, at the end
  /// by tile_sum. The exponent's max is `m`.
  ATTOSCOPE_APART void softmax_tile(Array m, bool rounds_P, bool sums_P) {
    step(1, [&] {
      for (int r = 0; r < vectors; ++r) vec(sum_)[r] = vec(sum_lost_)[r] = V{};
    });
    if (job_.method.order == SumOrder::sequential && !job_.method.kahan_l) {
      each_piece(costs_.weight(), [&] {
        exponentials(m);
        if (!sums_P) extend_sums();
        if (rounds_P) round_P();
        if (sums_P) extend_sums();
      });
    } else {
      each_piece(costs_.weight(), [&] {
        exponentials(m);
        if (rounds_P && sums_P) round_P();
      });
      sum_in_order();
      if (rounds_P && !sums_P) each_piece(costs_.weight(), [&] { round_P(); });
    }
    step(1, [&] { fill_rows(sum_, Step::tile_sum, [&](int r) { return vec(sum_)[r]; }); });
  }

  /// The tile's row sum in an order of its own: of all keys at once, or of one piece after the other where the walk is cut.
  ATTOSCOPE_ANYWHERE void sum_in_order() {
    const auto extend = [&] {
      with(Step::l_step, [&](auto rounder) {
        for (int r = 0; r < vectors; ++r) job_.method.kahan_l ? extend_kahan(rounder, r) : extend_ordered(rounder, r);
      });
    };
    if constexpr (Walk::cuts) {
      each_piece(costs_.ordered_sum(), extend);
    } else {
      extend();
    }
  }

  template <class Rounder>
  ATTOSCOPE_ANYWHERE void extend_ordered(Rounder rounder, int r) {
    OrderedSum<V, Rounder> sum(job_.method.order, job_.method.sum_lanes, j0_ - tile_first_, rounder, r, tile_, tile_first_);
    [[maybe_unused]] const Array parts = parts_ + r * max_sum_lanes;
    if constexpr (Walk::cuts)
      if (piece_ != 0) sum.resume(parts);
    auto s = vec(s_) + r;
    for (int j = 0; j < keys(); ++j, s += vectors) sum.add(*s);
    if constexpr (Walk::cuts) sum.keep(parts);
    vec(sum_)[r] = sum.total();
  }

  ATTOSCOPE_ANYWHERE void extend_sums() const {
    with(Step::l_step, [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) {
        V sum = vec(sum_)[r];
        auto s = vec(s_) + r;
        for (int j = 0; j < keys(); ++j, s += vectors) sum = rounder(sum + *s, Where{r, j0_ + j, 0});
        vec(sum_)[r] = sum;
      }
    });
  }

  template <class Rounder>
  ATTOSCOPE_ANYWHERE void extend_kahan(Rounder rounder, int r) const {
    V sum = vec(sum_)[r], lost = vec(sum_lost_)[r];
    auto s = vec(s_) + r;
    for (int j = 0; j < keys(); ++j, s += vectors) {
      const V y = rounder(*s - lost, Where{r, j0_ + j, 1}), next = rounder(sum + y, Where{r, j0_ + j, 2});
      const V next_lost = rounder(rounder(next - sum, Where{r, j0_ + j, 3}) - y, Where{r, j0_ + j, 4});
      const V key = splat<V>(static_cast<T>(j0_ + j)), first = vec(first_)[r], end = vec(end_)[r];
      lost = key < first ? lost : (key < end ? next_lost : lost);  // a key that the row does not see adds no lost part either
      sum = key < first ? sum : (key < end ? next : sum);
    }
    vec(sum_)[r] = sum;
    vec(sum_lost_)[r] = lost;
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
    for (int j = j0_, end = 0; j < j1_; j = end) {
      const bool masked = j < middle || j >= last;
      const int limit = j < middle ? middle : (masked ? j1_ : last);
      end = limit - j > key_chunk ? j + key_chunk : limit;
      step(costs_.value() * key_chunk, [&] { weighted_chunk(j, end, target, resume || j > j0_, masked); });
    }
  }

  ATTOSCOPE_ANYWHERE void weighted_chunk(int j0, int j1, Array target, bool resume, bool masked) {
    watch_.check();
    Product<T> pv = values_of(j0, j1, target);
    pv.resume = resume;
    if (masked) {
      mask(pv, j0);
      product<T, true>(pv, job_[Step::pv_step], pv_in_domain(pv));
    } else {
      product(pv, job_[Step::pv_step], pv_in_domain(pv));
    }
  }

  /// In another order the tile's P.V is a sum of its own, which is then added to what target holds.
  ATTOSCOPE_ANYWHERE void ordered_values(Array target, bool resume) {
    const Array sums = resume ? pv_ : target;
    if constexpr (Walk::cuts) {
      ordered_columns(sums);
    } else {
      ordered_chunk(values_of(j0_, j1_, sums), j0_);
    }
    const auto add = [t = vec(target), p = vec(pv_)](int i, int) { return t[i] + p[i]; };
    step(job_.d, [&] {
      if (resume) fill_columns(target, Step::pv_step, add, -1 - tile_);
    });
  }

  /// One column after the other, and of each one chunk of keys after the other.
  ATTOSCOPE_ANYWHERE void ordered_columns(Array sums) {
    const int chunks = (keys() + key_chunk - 1) / key_chunk;
    const Steps due = walk_.due_of(job_.d * chunks, costs_.value() * key_chunk / job_.d);
    for (int i = due.first; i < due.end; ++i) {
      const int column = i / chunks, j0 = j0_ + i % chunks * key_chunk, j1 = j1_ - j0 > key_chunk ? j0 + key_chunk : j1_;
      Product<T> pv = values_of(j0, j1, sums + static_cast<std::ptrdiff_t>(column) * vectors);
      pv.a += column;
      pv.m = 1;
      pv.first_m = column;
      pv.resume = j0 > j0_;
      ordered_chunk(pv, j0);
    }
  }
  ATTOSCOPE_ANYWHERE void ordered_chunk(Product<T> pv, int j0) {
    mask(pv, j0);
    ordered_product<Walk::cuts>(pv, job_[Step::pv_step], job_.method.order, job_.method.sum_lanes, j0 - tile_first_, parts_);
  }

  ATTOSCOPE_ANYWHERE Product<T> values_of(int j0, int j1, Array target) const {
    return {.a = job_.v + static_cast<std::ptrdiff_t>(j0) * job_.d,
            .m_stride = 1,
            .k_stride = job_.d,
            .b = s_ + static_cast<std::ptrdiff_t>(j0 - j0_) * R,
            .c = target,
            .m = job_.d,
            .depth = j1 - j0,
            .step = Step::pv_step,
            .dice = dice(),
            .first_k = j0,
            .crew = crew_};
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
  ATTOSCOPE_ANYWHERE bool pv_in_domain(const Product<T>& pv) const {
    return job_[Step::pv_step].can_be_short && crew_.all(own_pv_in_domain(pv));
  }
  ATTOSCOPE_ANYWHERE bool own_pv_in_domain(const Product<T>& pv) const {
    const Magnitudes p = magnitudes<T>(pv.b, pv.depth * vectors, job_[Step::P].mantissa_bits());
    if (!products_in_domain(p, job_.v_range, pv.depth)) return false;
    return !pv.resume || in_domain(magnitudes<T>(pv.c, job_.d * vectors, Layout<T>::mantissa_bits));
  }
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
