/// Scores S of one tile for one block of query rows, and their max; every result is rounded as the job requires.
#pragma once

#include "kernels/lanes/accumulated_product.h"
#include "kernels/lanes/block_rows.h"
#include "kernels/lanes/job.h"
#include "kernels/lanes/lanes.h"
#include "kernels/lanes/sum_order.h"

namespace attoscope {

namespace ATTOSCOPE_ISA {

/// Smallest nonzero and largest magnitude of `count` vectors, found by comparing bit patterns.
template <class T, class Array>
ATTOSCOPE_HOST_DEVICE inline Magnitudes magnitudes(Array x, int count, int mantissa_bits) {
  using V = typename Lanes<T>::V;
  using Bits = typename Layout<T>::Bits;
  using U = typename Lane<V>::UInt;
  const auto v = as_vectors(x);
  constexpr Bits sign = Layout<T>::sign;
  // unsigned: for 0, size - 1 wraps to the largest number, and 0 is never the smallest. Only -0 becomes 0 when its sign is
  // flipped.
  U low = U{} + static_cast<Bits>(-1), high{}, flipped = low;
  for (int i = 0; i < count; ++i) {
    const U bits = bit_as<U>(v[i]), size = bits & ~sign, below = size - 1, turned = bits ^ sign;
    low = below < low ? below : low;
    high = size > high ? size : high;
    flipped = turned < flipped ? turned : flipped;
  }
  Bits smallest = static_cast<Bits>(-1), largest_bits = 0, minus_zero = smallest;
  for (int lane = 0; lane < Lanes<T>::width; ++lane) {
    const Bits least = lane_of(low, lane), most = lane_of(high, lane), turned = lane_of(flipped, lane);
    smallest = least < smallest ? least : smallest;
    largest_bits = most > largest_bits ? most : largest_bits;
    minus_zero = turned < minus_zero ? turned : minus_zero;
  }
  if (largest_bits == 0) return {0, minus_zero == 0 ? std::numeric_limits<double>::infinity() : 0.0, mantissa_bits};
  const bool wild = minus_zero == 0 || largest_bits >= Layout<T>::infinity;
  return {static_cast<double>(bit_as<T>(static_cast<Bits>(smallest + 1))),
          wild ? std::numeric_limits<double>::infinity() : static_cast<double>(bit_as<T>(largest_bits)), mantissa_bits};
}

/// True if x, and the spacing of its last bits, stay in ShortRounder's domain.
ATTOSCOPE_HOST_DEVICE inline bool in_domain(const Magnitudes& x) {
  return x.largest < 0x1p98 && (x.smallest == 0 || x.smallest >= power_of_two<double>(x.mantissa_bits - 98));
}

/// True if every partial sum of `terms` products of x and y is 0 or in the domain: all are multiples of the product of the
/// smallest spacings.
ATTOSCOPE_HOST_DEVICE inline bool products_in_domain(const Magnitudes& x, const Magnitudes& y, int terms) {
  if (!(x.largest * y.largest * terms < 0x1p98)) return false;
  if (x.largest == 0 || y.largest == 0) return true;
  return x.smallest * y.smallest >= power_of_two<double>(x.mantissa_bits + y.mantissa_bits - 97);
}

template <class T, class Observer>
class Scores : protected BlockRows<T, Observer> {
 protected:
  using Base = BlockRows<T, Observer>;
  using Base::Base;
  using Base::job_, Base::group_, Base::observer_, Base::costs_, Base::rows_, Base::tile_, Base::scratch_, Base::held_,
      Base::kept_;
  using Base::R, Base::vectors, Base::infinity, Base::tile_max, Base::tie_counts;
  using Base::vec, Base::random, Base::keys, Base::keep, Base::fill_keys, Base::all_visible, Base::if_due, Base::each_piece;
  using typename Base::Array, typename Base::L, typename Base::V;

  /// Computes S of the tile (-infinity for keys that a row does not see) and its max in tile_max. A NaN score never becomes the
  /// max. If the method mitigates ties, a tied max is replaced.
  ATTOSCOPE_HOST_DEVICE_NOINLINE void scores() {
    if_due(1, [&] {
      for (int r = 0; r < vectors; ++r) vec(tile_max())[r] = splat<V>(-infinity);
    });
    const bool all = each_piece(costs_.score(), [&] {
      const bool plain = unscaled_scores();
      join_ranges(
          tile_max(), [&](int first, int end, int r) { return largest_score(first, end, r, plain); },
          [](V m, V x) { return x > m ? x : m; });
      keep(kept_.S);
    });
    held_.S = held_.has_room && all;
    if (job_.method.tie_beta != 0) move_from_ties();
  }

  /// Recomputes S of the piece.
  ATTOSCOPE_HOST_DEVICE void scores_again() {
    if (!unscaled_scores()) return;
    const V scale = splat<V>(job_.scale);
    group_.each_own(keys(), [&, s = vec(scratch_.S)](int first, int end) {
      for (int i = first * vectors; i < end * vectors; ++i) s[i] = scale * s[i];
    });
  }

  /// Computes q.k of the piece and returns true if S is only q.k times the scale; otherwise computes S and returns false.
  ATTOSCOPE_HOST_DEVICE bool unscaled_scores() {
    products();
    const bool plain = !job_[Step::S].rounds() && job_.softcap == 0 && job_.alibi == 0 && all_visible(tile_.j0, tile_.j1);
    if (!plain) finish_scores();
    return plain;
  }

  /// The largest S of some of the piece's keys; `scales`: they still hold q.k and are scaled here.
  ATTOSCOPE_HOST_DEVICE V largest_score(int first, int end, int r, bool scales) {
    const V scale = splat<V>(scales ? job_.scale : T(1));
    V m = splat<V>(-infinity);
    auto s = vec(scratch_.S) + (first * vectors + r);
    for (int j = first; j < end; ++j, s += vectors) {
      if (scales) *s = scale * *s;
      m = *s > m ? *s : m;
    }
    return m;
  }

  /// x = join(x, of_range(first, end, r)) over ranges of the piece's keys, in ascending order; of_range returns one number per
  /// row. The warps of a team share the ranges, and each warp gets every x.
  template <class F, class Join>
  ATTOSCOPE_HOST_DEVICE void join_ranges(Array x, F of_range, Join join) {
    const auto numbers = vec(scratch_.shared);
    group_.sync();  // all warps have read the previous numbers
    group_.each_own(keys(), [&](int first, int end) {
      const int range = has_teams ? first / column_group : 0;
      for (int r = 0; r < vectors; ++r) numbers[range * vectors + r] = of_range(first, end, r);
    });
    group_.sync();
    const int ranges = has_teams ? (keys() + column_group - 1) / column_group : 1;
    for (int r = 0; r < vectors; ++r) {
      V y = vec(x)[r];
      for (int range = 0; range < ranges; ++range) y = join(y, numbers[range * vectors + r]);
      vec(x)[r] = y;
    }
  }

  /// Computes q.k of the piece.
  ATTOSCOPE_HOST_DEVICE void products() {
    const KeysProduct<T> qk{.a = job_.k + static_cast<std::ptrdiff_t>(tile_.j0) * job_.d,
                            .m_stride = job_.d,
                            .k_stride = 1,
                            .b = rows_.q,
                            .c = scratch_.S,
                            .m = keys(),
                            .depth = job_.d,
                            .step = Step::qk_step,
                            .random = random(),
                            .first_m = tile_.j0,
                            .group = group_,
                            .ranges = known_ranges(false)};
    if (takes_known_products()) {
      // S holds the products
    } else if (job_.qk_sum.accumulator != Accumulator::fma) {
      if constexpr (std::is_same_v<T, float>) accumulate(qk, job_.qk_sum, 0, Array{});
    } else if (job_.method.order == SumOrder::sequential) {
      product<false>(qk, job_[Step::qk_step], products_in_domain(job_.ranges.q, job_.ranges.k, job_.d));
    } else {
      ordered_product<false>(qk, job_[Step::qk_step], {job_.method.order, job_.method.sum_lanes, 0}, [](int) { return 0; });
    }
    if (job_.scales.q != nullptr || job_.scales.bias != nullptr) scale_products();
  }

  /// Copies the only row's known products to S; returns false if there are none.
  ATTOSCOPE_HOST_DEVICE bool takes_known_products() const {
    if constexpr (requires(const Observer& x) { x.products; }) {
      for (int j = 0; observer_.products != nullptr && j < keys(); ++j)
        for (int r = 0; r < vectors; ++r) vec(scratch_.S)[j * vectors + r] = splat<V>(observer_.products[tile_.j0 + j]);
      return observer_.products != nullptr;
    }
    return false;
  }

  /// Converts q.k of stored numbers to q.k of the numbers they represent.
  ATTOSCOPE_HOST_DEVICE_NOINLINE void scale_products() {
    const auto s = vec(scratch_.S);
    group_.each_own(keys(), [&](int first, int end) {
      for (int j = first; job_.scales.q != nullptr && j < end; ++j) {
        const V k = splat<V>(*in_global(job_.scales.k + tile_.j0 + j));
        for (int r = 0; r < vectors; ++r) s[j * vectors + r] = s[j * vectors + r] * (vec(rows_.factor)[r] * k);
      }
      for (int lane = 0; job_.scales.bias != nullptr && lane < R; ++lane) {
        const std::ptrdiff_t block = static_cast<int>(rows_.number[lane]) / job_.scales.bias_rows;
        const T* const bias = job_.scales.bias + block * job_.n + tile_.j0;
        for (int j = first; j < end; ++j) scratch_.S[static_cast<std::ptrdiff_t>(j) * R + lane] += *in_global(bias + j);
      }
    });
  }

  /// Converts q.k to S.
  ATTOSCOPE_HOST_DEVICE void finish_scores() {
    const V scale = splat<V>(job_.scale);
    if (job_.mask_tensor.terms != nullptr) return finish_with_terms();
    if (job_.softcap == 0 && job_.alibi == 0) {
      fill_keys(Step::S, [s = vec(scratch_.S), scale](int i, int) { return scale * s[i]; });
    } else {
      const T softcap = job_.softcap;
      fill_keys(Step::S, [softcap, bias = key_bias(), s = vec(scratch_.S), scale](int i, int r) {
        const V x = scale * s[i];
        return bias.added(softcap != 0 ? soft_capped(x, softcap) : x, i / vectors, r);
      });
    }
    hide(-infinity);
  }

  /// `finish_scores` with a mask tensor's terms. Terms below `lowest_term` are raised to it, which keeps S and S log2 e finite:
  /// next to such a term, S keeps no bit of q.k.
  ATTOSCOPE_HOST_DEVICE_NOINLINE void finish_with_terms() {
    const auto s = vec(scratch_.S);
    const V scale = splat<V>(job_.scale);
    group_.each_own(keys(), [&, bias = key_bias()](int first, int end) {
      for (int i = first * vectors; i < end * vectors; ++i) {
        const V x = scale * s[i];
        s[i] = bias.added(job_.softcap != 0 ? soft_capped(x, job_.softcap) : x, i / vectors, i % vectors);
      }
      for (int j = first; j < end; ++j)
        for (int lane = 0; lane < R; ++lane) {
          const double term = mask_term(job_, static_cast<int>(rows_.number[lane]), tile_.j0 + j);
          scratch_.S[static_cast<std::ptrdiff_t>(j) * R + lane] +=
              static_cast<T>(term > job_.lowest_term ? term : job_.lowest_term);
        }
    });
    fill_keys(Step::S, [s](int i, int) { return s[i]; });
    hide(-infinity);
  }

  /// ALiBi's -slope * |row + diagonal - key| for the piece's keys, added by one fma. Captured by value, as the loops need it.
  struct KeyBias {
    decltype(vec(Array{})) rows;
    T slope;
    int first, step;  ///< position of the piece's key j is first + step * j, in the units of `rows`
    ATTOSCOPE_HOST_DEVICE_INLINE V added(V s, int j, int r) const {
      if (slope == 0) return s;
      const V distance = rows[r] - static_cast<T>(first + step * j);
      return fused(distance < T{0} ? -distance : distance, splat<V>(-slope), s);
    }
  };
  ATTOSCOPE_HOST_DEVICE KeyBias key_bias() const {
    const int first = (job_.reversed ? job_.n - 1 - tile_.j0 : tile_.j0) - job_.diagonal;
    return {vec(rows_.number), job_.alibi, first, job_.reversed ? -1 : 1};
  }

  /// Sets the scores of keys that a row does not see to `value`.
  ATTOSCOPE_HOST_DEVICE void hide(T value) {
    if (all_visible(tile_.j0, tile_.j1)) return;
    group_.each_own(keys(), [&](int first, int end) {
      for (int j = tile_.j0 + first; j < tile_.j0 + end; ++j) {
        if (all_visible(j, j + 1)) continue;
        const V key = splat<V>(static_cast<T>(j)), hidden = splat<V>(value);
        const auto s = vec(scratch_.S) + static_cast<std::ptrdiff_t>(j - tile_.j0) * vectors;
        for (int r = 0; r < vectors; ++r) s[r] = key < vec(rows_.first)[r] ? hidden : (key < vec(rows_.end)[r] ? s[r] : hidden);
      }
    });
    if (job_.mask_tensor.terms != nullptr) hide_dropped(value);
  }
  ATTOSCOPE_HOST_DEVICE_NOINLINE void hide_dropped(T value) {
    group_.each_own(keys(), [&](int first, int end) {
      for (int j = first; j < end; ++j)
        for (int lane = 0; lane < R; ++lane)
          if (mask_term(job_, static_cast<int>(rows_.number[lane]), tile_.j0 + j) == -std::numeric_limits<double>::infinity())
            scratch_.S[static_cast<std::ptrdiff_t>(j) * R + lane] = value;
    });
  }

  /// Sets tile_max to beta*m if it is tied and positive, to 0 if it is tied and negative (arXiv 2510.04212).
  ATTOSCOPE_HOST_DEVICE void move_from_ties() {
    const V one = splat<V>(1), beta = splat<V>(static_cast<T>(job_.method.tie_beta));
    if_due(1, [&] {
      for (int r = 0; r < vectors; ++r) vec(tie_counts())[r] = V{};
    });
    each_piece(2 + again(), [&] {
      if (!held_.S) scores_again();
      const auto count_ties = [&](int first, int end, int r) {
        const V m = vec(tile_max())[r];
        V count{};
        auto s = vec(scratch_.S) + (first * vectors + r);
        for (int j = first; j < end; ++j, s += vectors) count = *s == m ? count + one : count;
        return count;
      };
      join_ranges(tie_counts(), count_ties, [](V x, V y) { return x + y; });
    });
    if_due(1, [&] {
      for (int r = 0; r < vectors; ++r) {
        const V m = vec(tile_max())[r];
        const V moved = m > T{0} ? beta * m : (m > -infinity ? (m < T{0} ? V{} : m) : m);  // hidden keys are -infinity too
        vec(tile_max())[r] = vec(tie_counts())[r] > one ? moved : m;
      }
    });
  }

  // --- shared with P.V ------------------------------------------------------------------------------------------------

  /// Cost of recomputing S of one key; 0 if S is held.
  ATTOSCOPE_HOST_DEVICE std::int64_t again() const { return held_.has_room ? 0 : costs_.score(); }

  template <class P>
  ATTOSCOPE_HOST_DEVICE void accumulate(const P& p, const BlockSum& sum, int lead, LaneArray<const float> changes) {
    accumulated_product(BlockProduct<P>{.p = p,
                                        .sum = sum,
                                        .lead = lead,
                                        .changes = changes,
                                        .exponents_a = scratch_.exponents_a,
                                        .exponents_b = scratch_.exponents_b});
  }

  /// Known ranges of a product's factors, except P's.
  ATTOSCOPE_HOST_DEVICE auto known_ranges([[maybe_unused]] bool of_values) const {
    typename KeysProduct<T>::Ranges known{};
    if constexpr (Lane<V>::emulates_fma) {
      const MeasuredOperands* const x = job_.measured;
      if (x != nullptr && of_values) known = {.a = &x->ranges.v, .spans = x->spans};
      if (x != nullptr && !of_values) known = {.a = &x->ranges.k, .b = &x->ranges.q};
    }
    return known;
  }
};

}  // namespace ATTOSCOPE_ISA

}  // namespace attoscope
