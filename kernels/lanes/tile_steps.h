/// The steps that all algorithms are made of, for one block of query rows; every result is rounded as the job says. Results
/// pass from one step to the next in the lanes' arrays, so that a launch may end between any two steps or pieces of keys.
#pragma once

#include "kernels/lanes/accumulated_product.h"
#include "kernels/lanes/block_rows.h"
#include "kernels/lanes/short_domain.h"
#include "kernels/lanes/sum_order.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

ATTOSCOPE_HOST_DEVICE constexpr int clamp(int x, int low, int high) { return x < low ? low : (x > high ? high : x); }

template <class T, class Observer>
class TileSteps : protected BlockRows<T, Observer> {
 protected:
  using Base = BlockRows<T, Observer>;
  using Base::Base;
  using Base::job_, Base::group_, Base::observer_, Base::cursor_, Base::costs_, Base::rows_, Base::tile_, Base::state_,
      Base::scratch_, Base::kept_;
  using Base::R, Base::vectors, Base::infinity;
  using Base::tile_max, Base::tile_sum, Base::tie_counts;
  using Base::vec, Base::active, Base::random, Base::keys, Base::keep, Base::with, Base::fill_rows, Base::fill_keys,
      Base::fill_columns, Base::round_keys, Base::all_visible, Base::step, Base::each_piece;
  using typename Base::Array, typename Base::L, typename Base::V, typename Base::Cursor;

  // --- scores and the max ---------------------------------------------------------------------------------------------

  /// S of the tile, -infinity where a row does not see the key, and its max in tile_max; a NaN score never becomes the max. If
  /// the method mitigates ties, a tied max is replaced.
  ATTOSCOPE_HOST_DEVICE_NOINLINE void scores() {
    step(1, [&] {
      for (int r = 0; r < vectors; ++r) vec(tile_max())[r] = splat<V>(-infinity);
    });
    each_piece(costs_.score(), [&] {
      products();
      const bool plain = !job_[Step::S].rounds() && job_.softcap == 0 && job_.alibi == 0 && all_visible(tile_.j0, tile_.j1);
      if (!plain) finish_scores();
      const V scale = splat<V>(plain ? job_.scale : T(1));
      for (int r = 0; r < vectors; ++r) {
        V m = vec(tile_max())[r];
        auto s = vec(scratch_.S) + r;
        for (int j = 0; j < keys(); ++j, s += vectors) {
          if (plain) *s = scale * *s;
          m = *s > m ? *s : m;
        }
        vec(tile_max())[r] = m;
      }
      keep(kept_.S);
    });
    if (job_.method.tie_beta != 0) move_from_ties();
  }

  /// q.k of the piece.
  ATTOSCOPE_HOST_DEVICE void products() {
    const Product<T> qk{.a = job_.k + static_cast<std::ptrdiff_t>(tile_.j0) * job_.d,
                        .m_stride = job_.d,
                        .k_stride = 1,
                        .b = rows_.q,
                        .c = scratch_.S,
                        .m = keys(),
                        .depth = job_.d,
                        .step = Step::qk_step,
                        .random = random(),
                        .first_m = tile_.j0,
                        .group = group_};
    if (takes_known_products()) {
      // S holds them
    } else if (job_.qk_sum.accumulator != Accumulator::fma) {
      if constexpr (std::is_same_v<T, float>) accumulate(qk, job_.qk_sum, 0, Array{});
    } else if (job_.method.order == SumOrder::sequential) {
      product(qk, job_[Step::qk_step], products_in_domain(job_.ranges.q, job_.ranges.k, job_.d));
    } else {
      ordered_product<false>(qk, job_[Step::qk_step], job_.method.order, job_.method.sum_lanes, 0, {});
    }
    if (job_.scales.q != nullptr || job_.scales.bias != nullptr) scale_products();
  }

  /// Whether the products of the only row were known, and are in S now.
  ATTOSCOPE_HOST_DEVICE bool takes_known_products() const {
    if constexpr (requires(const Observer& x) { x.products; }) {
      for (int j = 0; observer_.products != nullptr && j < keys(); ++j)
        for (int r = 0; r < vectors; ++r) vec(scratch_.S)[j * vectors + r] = splat<V>(observer_.products[tile_.j0 + j]);
      return observer_.products != nullptr;
    }
    return false;
  }

  /// q.k of stored numbers becomes q.k of what they stand for.
  ATTOSCOPE_HOST_DEVICE_NOINLINE void scale_products() {
    const auto s = vec(scratch_.S);
    for (int j = 0; job_.scales.q != nullptr && j < keys(); ++j) {
      const V k = splat<V>(job_.scales.k[tile_.j0 + j]);
      for (int r = 0; r < vectors; ++r) s[j * vectors + r] = s[j * vectors + r] * (vec(rows_.factor)[r] * k);
    }
    for (int lane = 0; job_.scales.bias != nullptr && lane < R; ++lane) {
      const std::ptrdiff_t block = static_cast<int>(rows_.number[lane]) / job_.scales.bias_rows;
      const T* const bias = job_.scales.bias + block * job_.n + tile_.j0;
      for (int j = 0; j < keys(); ++j) scratch_.S[static_cast<std::ptrdiff_t>(j) * R + lane] += bias[j];
    }
  }

  /// From q.k to S.
  ATTOSCOPE_HOST_DEVICE void finish_scores() {
    const V scale = splat<V>(job_.scale);
    if (job_.softcap == 0 && job_.alibi == 0) {
      fill_keys(Step::S, [s = vec(scratch_.S), scale](int i, int) { return scale * s[i]; });
    } else {
      fill_keys(Step::S,
                [this, s = vec(scratch_.S), scale](int i, int r) { return biased(scale * s[i], tile_.j0 + i / vectors, r); });
    }
    hide(-infinity);
  }

  /// Soft-capping, then ALiBi's -slope * |row + diagonal - key| by one fma.
  ATTOSCOPE_HOST_DEVICE V biased(V s, int key, int r) const {
    if (job_.softcap != 0) s = soft_capped(s, job_.softcap);
    if (job_.alibi == 0) return s;
    const V distance = vec(rows_.number)[r] - static_cast<T>((job_.reversed ? job_.n - 1 - key : key) - job_.diagonal);
    return fused(distance < T{0} ? -distance : distance, splat<V>(-job_.alibi), s);
  }

  /// Puts `value` where a row does not see the key.
  ATTOSCOPE_HOST_DEVICE void hide(T value) {
    if (all_visible(tile_.j0, tile_.j1)) return;
    for (int j = tile_.j0; j < tile_.j1; ++j) {
      if (all_visible(j, j + 1)) continue;
      const V key = splat<V>(static_cast<T>(j)), hidden = splat<V>(value);
      const auto s = vec(scratch_.S) + static_cast<std::ptrdiff_t>(j - tile_.j0) * vectors;
      for (int r = 0; r < vectors; ++r) s[r] = key < vec(rows_.first)[r] ? hidden : (key < vec(rows_.end)[r] ? s[r] : hidden);
    }
  }

  /// tile_max becomes beta*m where it is tied and positive, 0 where it is tied and negative (arXiv 2510.04212).
  ATTOSCOPE_HOST_DEVICE void move_from_ties() {
    const V one = splat<V>(1), beta = splat<V>(static_cast<T>(job_.method.tie_beta));
    step(1, [&] {
      for (int r = 0; r < vectors; ++r) vec(tie_counts())[r] = V{};
    });
    each_piece(2, [&] {
      for (int r = 0; r < vectors; ++r) {
        const V m = vec(tile_max())[r];
        V count = vec(tie_counts())[r];
        auto s = vec(scratch_.S) + r;
        for (int j = 0; j < keys(); ++j, s += vectors) count = *s == m ? count + one : count;
        vec(tie_counts())[r] = count;
      }
    });
    step(1, [&] {
      for (int r = 0; r < vectors; ++r) {
        const V m = vec(tile_max())[r];
        const V moved = m > T{0} ? beta * m : (m > -infinity ? (m < T{0} ? V{} : m) : m);  // hidden keys are -infinity too
        vec(tile_max())[r] = vec(tie_counts())[r] > one ? moved : m;
      }
    });
  }

  /// m = round(max(m, max S)); m_old is the former m. flash4 keeps a stale m that is at most tau (in log2) too small.
  ATTOSCOPE_HOST_DEVICE void running_max() {
    const V one = splat<V>(1);
    for (int r = 0; r < vectors; ++r) {
      const V m = vec(scratch_.m_old)[r] = vec(state_.m)[r];
      vec(state_.m)[r] = vec(tile_max())[r] > m ? vec(tile_max())[r] : m;
    }
    if (job_[Step::m].rounds()) fill_rows(state_.m, Step::m, [this](int r) { return vec(state_.m)[r]; });
    for (int r = 0; r < vectors; ++r) {
      vec(state_.m)[r] = active(r) == one ? vec(state_.m)[r] : vec(scratch_.m_old)[r];
      if (job_.method.algorithm != Algorithm::flash4) continue;
      const V rise = (vec(state_.m)[r] - vec(scratch_.m_old)[r]) * log2_scale();
      const V kept = rise <= static_cast<T>(job_.method.tau) ? vec(scratch_.m_old)[r] : vec(state_.m)[r];
      vec(state_.m)[r] = vec(state_.started)[r] == one ? kept : vec(state_.m)[r];
    }
  }

  /// The factor that turns a difference of S into an exponent of 2.
  ATTOSCOPE_HOST_DEVICE T log2_scale() const { return exp2() ? job_.exp2.scale : static_cast<T>(0x1.71547652b82fep+0); }
  ATTOSCOPE_HOST_DEVICE bool exp2() const { return job_.method.exponential == ExponentialKind::exp2; }
  ATTOSCOPE_HOST_DEVICE V factor(V difference) const {
    return exp2() ? exponential2(difference * job_.exp2.scale) : exponential(difference);
  }

  /// alpha = round(exp(m_old - m_new)); 1 where there is nothing to rescale: on a row's first tile, and for idle rows.
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

  /// S becomes e = round(exp(round(S - m))), times 2^p_exponent; 0 where a row does not see the key.
  ATTOSCOPE_HOST_DEVICE_NOINLINE void exponentials(Array m) {
    const auto s = vec(scratch_.S);
    const auto max = vec(m);
    const int count = keys() * vectors, degree = job_.method.exp2_degree;
    if (exp2()) {
      const V c = splat<V>(job_.exp2.scale), shift = splat<V>(job_.exp2.shift);
      V below[vectors];
      for (int r = 0; r < vectors; ++r) below[r] = -(max[r] * c - shift);
      fill_keys(Step::shifted, [&](int i, int r) { return fused(s[i], c, below[r]); });
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
    if (job_.P.lift != 1)
      for (int i = 0; i < count; ++i) s[i] = s[i] * job_.P.lift;
    round_keys(Step::e);
    hide(T{0});
    keep(kept_.e);
  }

  ATTOSCOPE_HOST_DEVICE void round_P() {
    if (job_.P.factor != 1) {
      const auto s = vec(scratch_.S);
      for (int i = 0; i < keys() * vectors; ++i) s[i] = s[i] * job_.P.factor;
    }
    if (job_.P.block != 0) {
      round_blocks_of_P();
    } else {
      round_keys(Step::P);
    }
    keep(kept_.P);
  }

  /// P in blocks of keys, counted from the tile's first: elements times the scale of their block.
  ATTOSCOPE_HOST_DEVICE_NOINLINE void round_blocks_of_P() {
    const MagicRounder<T> element(job_.P.element);
    for (int j = 0; j < keys(); j += job_.P.block)
      for (int r = 0; r < vectors; ++r) {
        const int end = keys() - j > job_.P.block ? j + job_.P.block : keys();
        const auto s = vec(scratch_.S) + r;
        V amax{};
        for (int i = j; i < end; ++i) amax = s[i * vectors] > amax ? s[i * vectors] : amax;
        const V exact = unrounded_scale(amax), scale = rounded_scale(exact);
        const V by = job_.P.quotient == Quotient::unrounded ? (exact > T{0} ? exact : scale) : scale;
        for (int i = j; i < end; ++i) s[i * vectors] = element(s[i * vectors] / by) * scale;
      }
  }

  /// The scale of a block of P before it is rounded to its format; a power of 2 that is no normal number is 0.
  ATTOSCOPE_HOST_DEVICE V unrounded_scale(V amax) const {
    const V most = splat<V>(job_.P.element.largest), quotient = amax / most;
    if (job_.P.rule == ScaleRule::amax) return quotient;
    using Int = typename Lane<V>::Int;
    using L0 = Layout<T>;
    const V whole = job_.P.rule == ScaleRule::floor ? amax * power_of_two<T>(-job_.P.largest_exponent) : quotient;
    const Int power = bits_of(whole) & static_cast<typename Lane<T>::Int>(L0::infinity);
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
    each_piece(costs_.share(), [&] {
      fill_keys(Step::P, [s = vec(scratch_.S), l = vec(state_.l)](int i, int r) { return s[i] / l[r]; });
      hide(T{0});
      keep(kept_.P);
    });
  }

  /// e, P and the row sum of the tile, which is P's if `sums_P`. tile_sum = round(sum): after every addition by l_step, at the
  /// end by tile_sum. The exponent's max is `m`.
  ATTOSCOPE_HOST_DEVICE_NOINLINE void softmax_tile(Array m, bool rounds_P, bool sums_P) {
    step(1, [&] {
      for (int r = 0; r < vectors; ++r) vec(tile_sum())[r] = vec(scratch_.sum_lost)[r] = V{};
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
    step(1, [&] { fill_rows(tile_sum(), Step::tile_sum, [&](int r) { return vec(tile_sum())[r]; }); });
  }

  /// The tile's row sum in an order other than sequential: over all keys at once, or piece by piece where the work is split
  /// into launches.
  ATTOSCOPE_HOST_DEVICE void sum_in_order() {
    const auto extend = [&] {
      with(Step::l_step, [&](auto rounder) {
        for (int r = 0; r < vectors; ++r) job_.method.kahan_l ? extend_kahan(rounder, r) : extend_ordered(rounder, r);
      });
    };
    if constexpr (Cursor::is_partial) {
      each_piece(costs_.ordered_sum(), extend);
    } else {
      extend();
    }
  }

  template <class Rounder>
  ATTOSCOPE_HOST_DEVICE void extend_ordered(Rounder rounder, int r) {
    OrderedSum<V, Rounder> sum(job_.method.order, job_.method.sum_lanes, tile_.j0 - tile_.first_key, rounder, r, tile_.index,
                               tile_.first_key);
    if constexpr (Cursor::is_partial)
      if (tile_.piece != 0) sum.resume(scratch_.parts + r * max_sum_lanes);
    auto s = vec(scratch_.S) + r;
    for (int j = 0; j < keys(); ++j, s += vectors) sum.add(*s);
    if constexpr (Cursor::is_partial) sum.keep(scratch_.parts + r * max_sum_lanes);
    vec(tile_sum())[r] = sum.total();
  }

  ATTOSCOPE_HOST_DEVICE void extend_sums() const {
    with(Step::l_step, [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) {
        V sum = vec(tile_sum())[r];
        auto s = vec(scratch_.S) + r;
        for (int j = 0; j < keys(); ++j, s += vectors) sum = rounder(sum + *s, Where{r, tile_.j0 + j, 0});
        vec(tile_sum())[r] = sum;
      }
    });
  }

  template <class Rounder>
  ATTOSCOPE_HOST_DEVICE void extend_kahan(Rounder rounder, int r) const {
    V sum = vec(tile_sum())[r], lost = vec(scratch_.sum_lost)[r];
    auto s = vec(scratch_.S) + r;
    for (int j = 0; j < keys(); ++j, s += vectors) {
      const V y = rounder(*s - lost, Where{r, tile_.j0 + j, 1}), next = rounder(sum + y, Where{r, tile_.j0 + j, 2});
      const V next_lost = rounder(rounder(next - sum, Where{r, tile_.j0 + j, 3}) - y, Where{r, tile_.j0 + j, 4});
      const V key = splat<V>(static_cast<T>(tile_.j0 + j)), first = vec(rows_.first)[r], end = vec(rows_.end)[r];
      lost = key < first ? lost : (key < end ? next_lost : lost);  // a key that the row does not see adds no lost part either
      sum = key < first ? sum : (key < end ? next : sum);
    }
    vec(tile_sum())[r] = sum;
    vec(scratch_.sum_lost)[r] = lost;
  }

  // --- P.V ------------------------------------------------------------------------------------------------------------

  /// target = P.V over the tile's keys, from 0 or continuing what target holds.
  ATTOSCOPE_HOST_DEVICE_NOINLINE void weighted_values(Array target, bool resume) {
    if constexpr (std::is_same_v<T, float>)
      if (job_.pv_sum.accumulator != Accumulator::fma) return accumulated_values(target, resume);
    if (job_.method.order != SumOrder::sequential) {
      ordered_values(target, resume);
      return;
    }
    int middle = clamp(rows_.all.first, tile_.j0, tile_.j1), last = clamp(rows_.all.end, tile_.j0, tile_.j1);
    if (last < middle) last = middle = tile_.j1;
    for (int j = tile_.j0, end = 0; j < tile_.j1; j = end) {
      const bool masked = j < middle || j >= last;
      const int limit = j < middle ? middle : (masked ? tile_.j1 : last);
      end = limit - j > key_chunk ? j + key_chunk : limit;
      step(costs_.value() * key_chunk, [&] { weighted_chunk(j, end, target, resume || j > tile_.j0, masked); });
    }
  }

  ATTOSCOPE_HOST_DEVICE void weighted_chunk(int j0, int j1, Array target, bool resume, bool masked) {
    observer_.check();
    Product<T> pv = values_of(j0, j1, target);
    pv.resume = resume;
    if (masked) {
      mask(pv, j0);
      product<T, true>(pv, job_[Step::pv_step], pv_in_domain(pv));
    } else {
      product(pv, job_[Step::pv_step], pv_in_domain(pv));
    }
  }

  /// Blocks begin at the tile's first key, so that chunks of keys do; a row that sees none of its keys keeps what it has.
  ATTOSCOPE_HOST_DEVICE void accumulated_values(Array target, bool resume) {
    for (int j = tile_.j0, end = 0; j < tile_.j1; j = end) {
      const int chunk_end = j - (j - tile_.first_key) % key_chunk + key_chunk;
      end = chunk_end < tile_.j1 ? chunk_end : tile_.j1;
      step(costs_.value() * key_chunk, [&] {
        observer_.check();
        Product<T> pv = values_of(j, end, target);
        pv.resume = resume || j > tile_.j0;
        mask(pv, j);
        accumulate(pv, job_.pv_sum, (j - tile_.first_key) % job_.pv_sum.block, tile_.any_idle ? tile_.active : Array{});
      });
    }
  }

  ATTOSCOPE_HOST_DEVICE void accumulate(const Product<float>& p, const BlockSum& sum, int lead,
                                        LaneArray<const float> changes) {
    accumulated_product({.p = p,
                         .sum = sum,
                         .lead = lead,
                         .changes = changes,
                         .exponents_a = scratch_.exponents_a,
                         .exponents_b = scratch_.exponents_b});
  }

  /// In an order other than sequential the tile's P.V is summed on its own, then added to what target holds.
  ATTOSCOPE_HOST_DEVICE void ordered_values(Array target, bool resume) {
    const Array sums = resume ? scratch_.PV : target;
    if constexpr (Cursor::is_partial) {
      ordered_columns(sums);
    } else {
      ordered_chunk(values_of(tile_.j0, tile_.j1, sums), tile_.j0);
    }
    const auto add = [t = vec(target), p = vec(scratch_.PV)](int i, int) { return t[i] + p[i]; };
    step(job_.d_v, [&] {
      if (resume) fill_columns(target, Step::pv_step, add, -1 - tile_.index);
    });
  }

  /// One column after the other, and of each one chunk of keys after the other.
  ATTOSCOPE_HOST_DEVICE void ordered_columns(Array sums) {
    const int chunks = (keys() + key_chunk - 1) / key_chunk;
    const Steps due = cursor_.due_of(job_.d_v * chunks, costs_.value() * key_chunk / job_.d_v);
    for (int i = due.first; i < due.end; ++i) {
      const int column = i / chunks, j0 = tile_.j0 + i % chunks * key_chunk,
                j1 = tile_.j1 - j0 > key_chunk ? j0 + key_chunk : tile_.j1;
      Product<T> pv = values_of(j0, j1, sums + static_cast<std::ptrdiff_t>(column) * vectors);
      pv.a += column;
      pv.m = 1;
      pv.first_m = column;
      pv.resume = j0 > tile_.j0;
      ordered_chunk(pv, j0);
    }
  }
  ATTOSCOPE_HOST_DEVICE void ordered_chunk(Product<T> pv, int j0) {
    mask(pv, j0);
    ordered_product<Cursor::is_partial>(pv, job_[Step::pv_step], job_.method.order, job_.method.sum_lanes, j0 - tile_.first_key,
                                        scratch_.parts);
  }

  ATTOSCOPE_HOST_DEVICE Product<T> values_of(int j0, int j1, Array target) const {
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
            .group = group_};
  }

  ATTOSCOPE_HOST_DEVICE void mask(Product<T>& pv, int j0) const {
    for (int r = 0; r < vectors; ++r) {
      vec(scratch_.from)[r] = vec(rows_.first)[r] - static_cast<T>(j0);
      vec(scratch_.to)[r] = vec(rows_.end)[r] - static_cast<T>(j0);
    }
    pv.first = scratch_.from;
    pv.end = scratch_.to;
  }

  /// Whether ShortRounder may be used; the same answer in all lanes of the group.
  ATTOSCOPE_HOST_DEVICE bool pv_in_domain(const Product<T>& pv) const {
    return job_[Step::pv_step].can_be_short && group_.all(own_pv_in_domain(pv));
  }
  ATTOSCOPE_HOST_DEVICE bool own_pv_in_domain(const Product<T>& pv) const {
    const Magnitudes p = magnitudes<T>(pv.b, pv.depth * vectors, job_[Step::P].mantissa_bits());
    if (!products_in_domain(p, job_.ranges.v, pv.depth)) return false;
    return !pv.resume || in_domain(magnitudes<T>(pv.c, job_.d_v * vectors, Layout<T>::mantissa_bits));
  }
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
