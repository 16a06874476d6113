/// The backward pass of one block of query rows, one row per lane. README.md states the rule.
#pragma once

#include "kernels/backward/gradient_rule.h"
#include "kernels/lanes/tile_steps.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Computes P, dS and delta of the block's rows. S comes from the code of the forward pass. The warps of a GPU's team share the
/// keys; every warp has all statistics of a row.
template <class T, class Observer>
class RowPairs : protected TileSteps<T, Observer> {
 protected:
  using Base = TileSteps<T, Observer>;
  using Base::job_, Base::block_, Base::group_, Base::observer_, Base::cursor_, Base::costs_, Base::rows_, Base::tile_,
      Base::state_, Base::scratch_;
  using Base::R, Base::vectors, Base::infinity;
  using Base::vec, Base::random, Base::keys, Base::if_due;
  using typename Base::Array, typename Base::V;

  ATTOSCOPE_HOST_DEVICE RowPairs(const GradientRule<T>& rule, const RowsTask<T>& task, const LaneGroup& group,
                                 const Observer& observer, LaneArena& arena)
      : Base(rule.job, task.block, group, observer, arena), rule_(rule), task_(task) {
    const auto numbers = [](int count) { return static_cast<std::size_t>(count) * R; };
    for (Array* matrix : {&d_o_, &given_, &o_}) *matrix = arena.template take<T>(numbers(rule.width_v));
    for (Array* row : {&lse_, &delta_, &first_, &end_}) *row = arena.template take_own<T>(numbers(1));
    for (Array* chunk : {&p_, &ds_, &dp_, &lost_, &tanh_}) *chunk = arena.template take<T>(numbers(key_chunk));
    if (task.ds == nullptr) own_ds_ = arena.template take<T>(numbers(job_.n));
  }

  /// Computes P, dS, delta and L.
  ATTOSCOPE_HOST_DEVICE void find_pairs() {
    load();
    if (rule_.finds_state) find_state();
    if (rule_.is_merged && job_.mask_tensor.terms != nullptr) sum_lowest();
    find_delta();
    if_due(1, [&] { store_statistics(); });
    each_chunk(task_.keys, [&](int i, int first, int end) {
      const Array p = task_.p != nullptr ? Array(task_.p) + at(i) : p_, ds = of_ds() + at(i);
      if (!is_held()) find_weights(first, end, p, ds);
      differ(i, first, end, p, ds);
    });
  }

  ATTOSCOPE_HOST_DEVICE static std::ptrdiff_t at(int key) { return static_cast<std::ptrdiff_t>(key) * R; }
  ATTOSCOPE_HOST_DEVICE int buffers() const {
    return rule_.order == GradOrder::buffers ? (rule_.buffers < tiles() ? rule_.buffers : tiles()) : 1;
  }
  ATTOSCOPE_HOST_DEVICE int tiles() const { return (job_.n - 1) / rule_.block_k + 1; }
  ATTOSCOPE_HOST_DEVICE Array of_ds() const { return task_.ds != nullptr ? Array(task_.ds) : own_ds_; }
  /// True if P and dP of all keys stay in memory after delta's sum.
  ATTOSCOPE_HOST_DEVICE bool is_held() const {
    return rule_.delta_from == DeltaFrom::probabilities && rule_.known_delta == nullptr && task_.p != nullptr &&
           task_.keys.keys == nullptr;
  }

  // --- rows -----------------------------------------------------------------------------------------------------------

  /// Loads Q, dO and O into lanes and the range of keys that each row sees, and computes L.
  ATTOSCOPE_HOST_DEVICE void load() {
    this->load_rows();
    for (int lane = 0; lane < R; ++lane) {
      const int row = block_.row_of(lane);
      if (cursor_.is_new()) load_columns(row, lane);
      const Keys seen = rule_.keys_of(row);
      first_[lane] = static_cast<T>(seen.first);
      end_[lane] = static_cast<T>(seen.end);
      if (rule_.finds_state) continue;
      state_.m[lane] = *in_global(rule_.m + row);
      state_.l[lane] = *in_global(rule_.l + row);
    }
    group_.sync();  // all columns are loaded
    if (!rule_.finds_state) find_log_sums();
  }
  ATTOSCOPE_HOST_DEVICE void load_columns(int row, int lane) {
    const std::ptrdiff_t at_row = static_cast<std::ptrdiff_t>(row) * rule_.width_v;
    group_.each_own(rule_.width_v, [&](int c, int last) {
      for (; c < last; ++c) d_o_[c * R + lane] = *in_global(rule_.d_o + at_row + c);
    });
    if (rule_.delta_from != DeltaFrom::output || rule_.known_delta != nullptr) return;
    const bool sees_keys = !rule_.keys_of(row).empty();  // else O may be NaN
    const double* const o = rule_.o + static_cast<std::ptrdiff_t>(row) * job_.d_v;
    group_.each_own(job_.d_v, [&](int c, int last) {
      for (; c < last; ++c) {
        given_[c * R + lane] = *in_global(rule_.given_d_o + at_row + c);
        o_[c * R + lane] = sees_keys ? static_cast<T>(*in_global(o + c)) : T{0};
      }
    });
  }

  ATTOSCOPE_HOST_DEVICE void find_log_sums() {
    const V unit = splat<V>(job_.exp2.score_unit);
    fill_rows(lse_, GradStep::lse, [&](int r) {
      const V m = vec(state_.m)[r] - lowest(r), log_l = logarithm(vec(state_.l)[r]);
      if (rule_.is_merged) return m + log_l;
      return rule_.rounds_m ? m * unit + (log_l - job_.P.log_lift) : fused(m, unit, log_l - job_.P.log_lift);
    });
  }

  /// m in rows in which a mask tensor leaves only the lowest numbers, else 0. Such rows make P from S - m and L - m, since L
  /// there has no bit of ln l.
  ATTOSCOPE_HOST_DEVICE V lowest(int r) const {
    const V m = vec(state_.m)[r], none{};
    if (job_.mask_tensor.terms == nullptr || rule_.finds_state) return none;
    return m < T(-0x1p24) ? (m > -infinity ? m : none) : none;
  }
  /// Computes l of such rows over all keys, if the forward pass merged runs whose L have no bit of ln l.
  ATTOSCOPE_HOST_DEVICE_NOINLINE void sum_lowest() {
    const auto m = vec(state_.m), l = vec(state_.l);
    const auto of_lowest = [&](int r, V x, V otherwise) { return lowest(r) < V{} ? x : otherwise; };
    if_due(1, [&] {
      for (int r = 0; r < vectors; ++r) l[r] = of_lowest(r, job_.has_sink ? exponential(job_.sink - m[r]) : V{}, l[r]);
    });
    each_chunk(KeyList{nullptr, job_.n}, [&](int, int first, int end) {
      enter_keys(first, end);
      this->scores_again();
      turn_keys();
      group_.sync();
      const auto s = vec(scratch_.S);
      each_number_of_rows(keys(), l, [&](V x, int j) {
        const int r = j % vectors;
        return of_lowest(r, x + exponential(s[j] - m[r]), x);
      });
      group_.sync();  // before S changes
    });
    if_due(1, [&] {
      this->hand_over(state_.l);
      find_log_sums();
    });
  }

  /// Computes golden's m, l and L, and P in the memory of S.
  ATTOSCOPE_HOST_DEVICE void find_state() {
    const auto m = vec(state_.m), l = vec(state_.l);
    if_due(1, [&] {
      for (int r = 0; r < vectors; ++r) m[r] = splat<V>(job_.has_sink ? job_.sink : -infinity);
    });
    each_chunk(task_.keys, [&](int i, int first, int end) {
      enter_keys(first, end);
      this->scores_again();
      const auto s = vec(scratch_.S);
      const auto kept = vec(Array(task_.p) + at(i));
      each_pair(keys(), [&](int j, int) { kept[j] = s[j]; });
      group_.sync();
      each_number_of_rows(keys(), m, [&](V x, int j) { return kept[j] > x ? kept[j] : x; });
      group_.sync();  // before P changes
    });
    if_due(1, [&] {
      this->hand_over(state_.m);
      for (int r = 0; r < vectors; ++r) l[r] = job_.has_sink ? exponential(job_.sink - m[r]) : V{};
    });
    each_chunk(task_.keys, [&](int i, int first, int end) {
      const auto p = vec(Array(task_.p) + at(i));
      each_pair(end - first, [&](int j, int r) { p[j] = exponential(p[j] - m[r]); });
      group_.sync();
      each_number_of_rows(end - first, l, [&](V x, int j) { return x + p[j]; });
      group_.sync();  // before P changes
    });
    if_due(1, [&] {
      this->hand_over(state_.l);
      for (int r = 0; r < vectors; ++r) vec(lse_)[r] = m[r] + logarithm(l[r]);
    });
    each_chunk(task_.keys, [&](int i, int first, int end) {
      V share[vectors];
      for (int r = 0; r < vectors; ++r) share[r] = T{1} / l[r];
      const auto p = vec(Array(task_.p) + at(i));
      each_pair(end - first, [&](int j, int r) { p[j] = p[j] * share[r]; });
      clear_rows_without_keys(Array(task_.p) + at(i), end - first);
    });
  }

  /// Sets P to 0 in rows that a mask tensor leaves no key; such rows may lie between rows with keys.
  ATTOSCOPE_HOST_DEVICE void clear_rows_without_keys(Array p, int count) const {
    if (job_.mask_tensor.rows == nullptr) return;
    group_.each_own(count, [&](int j, int last) {
      for (; j < last; ++j)
        for (int lane = 0; lane < R; ++lane)
          if (first_[lane] >= end_[lane]) p[at(j) + lane] = 0;
    });
  }

  /// Calls f(i, r) for the warp's numbers of `count` keys; r is the vector of the row.
  template <class F>
  ATTOSCOPE_HOST_DEVICE void each_pair(int count, F f) const {
    group_.each_own(count, [&](int first, int last) {
      ATTOSCOPE_UNROLL(unroll 2)
      for (int j = first; j < last; ++j)
        for (int r = 0; r < vectors; ++r) f(j * vectors + r, r);
    });
  }
  /// x = f(x, i) over the numbers of `count` keys in turn, in the leading warp.
  template <class X, class F>
  ATTOSCOPE_HOST_DEVICE void each_number_of_rows(int count, X x, F f) const {
    for (int r = 0; group_.leads() && r < vectors; ++r) {
      V y = x[r];
      for (int j = 0; j < count; ++j) y = f(y, j * vectors + r);
      x[r] = y;
    }
  }

  /// x[i] = round(f(i, r)) for the numbers of `count` keys from key `number` on.
  template <class F>
  ATTOSCOPE_HOST_DEVICE void fill(Array x, int count, GradStep of, F f, int number) const {
    const auto out = vec(x);
    with_rounder(rule_[of], random_step(of), random(), [&](auto rounder) {
      each_pair(count, [&](int i, int r) { out[i] = rounder(f(i, r), RoundingKey{r, number + i / vectors, 0}); });
    });
  }
  ATTOSCOPE_HOST_DEVICE void round_all(Array x, int count, GradStep of, int number) const {
    if (rule_[of].rounds()) fill(x, count, of, [x = vec(x)](int i, int) { return x[i]; }, number);
  }
  /// x = round(f(r)), one number per row.
  template <class F>
  ATTOSCOPE_HOST_DEVICE void fill_rows(Array x, GradStep of, F f) const {
    with_rounder(rule_[of], random_step(of), random(), [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) vec(x)[r] = rounder(f(r), RoundingKey{r, 0, 0});
    });
  }

  ATTOSCOPE_HOST_DEVICE void find_delta() {
    if (rule_.known_delta == nullptr)
      return rule_.delta_from == DeltaFrom::output ? delta_of_output() : delta_of_probabilities();
    for (int lane = 0; lane < R; ++lane) delta_[lane] = static_cast<T>(*in_global(rule_.known_delta + block_.row_of(lane)));
  }

  /// delta = round(sum - dL).
  ATTOSCOPE_HOST_DEVICE void finish_delta() {
    for (int lane = 0; rule_.d_lse != nullptr && lane < R; ++lane)
      delta_[lane] -= static_cast<T>(*in_global(rule_.d_lse + block_.row_of(lane)));
    fill_rows(delta_, GradStep::delta, [this](int r) { return vec(delta_)[r]; });
  }

  ATTOSCOPE_HOST_DEVICE void delta_of_output() {
    if_due(job_.d_v, [&] {
      with_rounder(rule_[GradStep::delta_step], random_step(GradStep::delta_step), random(), [&](auto rounder) {
        for (int r = 0; r < vectors; ++r) {
          V sum{};
          for (int c = 0; c < job_.d_v; ++c)
            sum = rounder(fused(vec(given_)[c * vectors + r], vec(o_)[c * vectors + r], sum), RoundingKey{r, c, 0});
          vec(delta_)[r] = sum;
        }
      });
      finish_delta();
    });
  }

  ATTOSCOPE_HOST_DEVICE void delta_of_probabilities() {
    if_due(1, [&] {
      for (int r = 0; r < vectors; ++r) vec(delta_)[r] = V{};
    });
    each_chunk(KeyList{nullptr, job_.n}, [&](int i, int first, int end) {
      const Array p = is_held() ? Array(task_.p) + at(i) : p_, ds = is_held() ? Array(task_.ds) + at(i) : ds_;
      find_weights(first, end, p, ds);
      group_.sync();  // P and dP of all warps' keys are written
      with_rounder(rule_[GradStep::delta_step], random_step(GradStep::delta_step), random(), [&](auto rounder) {
        for (int r = 0; group_.leads() && r < vectors; ++r) {
          V sum = vec(delta_)[r];
          for (int j = 0; j < end - first; ++j) {
            const V next = rounder(fused(vec(p)[j * vectors + r], vec(ds)[j * vectors + r], sum), RoundingKey{r, first + j, 0});
            const V key = splat<V>(static_cast<T>(first + j));
            sum = key < vec(first_)[r] ? sum : (key < vec(end_)[r] ? next : sum);
          }
          vec(delta_)[r] = sum;
        }
      });
      group_.sync();  // before the next chunk overwrites P and dP
    });
    if_due(1, [&] {
      this->hand_over(delta_);
      finish_delta();
    });
  }

  ATTOSCOPE_HOST_DEVICE double stored_lse(int lane) const {
    constexpr int width = Lanes<T>::width;
    return static_cast<double>(lse_[lane] + lane_of(lowest(lane / width), lane % width));
  }
  ATTOSCOPE_HOST_DEVICE void store_statistics() const {
    for (int lane = 0; group_.leads() && task_.delta != nullptr && lane < block_.count; ++lane) {
      const int row = block_.rows[lane];
      const bool sees_no_key = rule_.keys_of(row).empty();
      *in_global(task_.delta + row) = sees_no_key ? 0 : static_cast<double>(delta_[lane]);
      *in_global(task_.lse + row) = sees_no_key ? -std::numeric_limits<double>::infinity() : stored_lse(lane);
    }
  }

  // --- keys -----------------------------------------------------------------------------------------------------------

  /// Calls f(i, first, end) for adjacent keys [first, end) that some row sees; i is the index of `first` in the list.
  template <class F>
  ATTOSCOPE_HOST_DEVICE void each_chunk(const KeyList& list, F f) {
    if (!this->sees_keys()) return;
    const int low = job_.reversed ? job_.n - rows_.any.end : rows_.any.first,
              high = job_.reversed ? job_.n - rows_.any.first : rows_.any.end;
    for (int i = 0; i < list.count;) {
      const int key = list[i], chunk = (key / key_chunk + 1) * key_chunk,
                whole = list.keys != nullptr ? key + 1 : (chunk < job_.n ? chunk : job_.n);
      const int first = key > low ? key : low, end = whole < high ? whole : high;
      if (first < end) if_due((end - first) * cost_of_key(), [&] { f(i + first - key, first, end); });
      i += whole - key;
      observer_.check();
    }
  }

  /// Cost of a key in the most expensive pass over keys.
  ATTOSCOPE_HOST_DEVICE std::int64_t cost_of_key() const { return 2 * (costs_.score() + rule_.width_v) + 96; }

  /// Enters the keys [first, end), given in their own order, in the storage order of the forward pass.
  ATTOSCOPE_HOST_DEVICE void enter_keys(int first, int end) {
    const int j0 = job_.reversed ? job_.n - end : first;
    this->enter(0, j0, j0, j0 + end - first);
  }
  /// Reverses the keys of S if the forward pass stores them reversed.
  ATTOSCOPE_HOST_DEVICE void turn_keys() {
    if (!job_.reversed) return;
    group_.sync();
    const auto s = vec(scratch_.S);
    for (int i = group_.warp(), j = keys() - 1 - i; i < j; i += group_.warps(), j -= group_.warps())
      for (int r = 0; r < vectors; ++r) {
        const V x = s[i * vectors + r];
        s[i * vectors + r] = s[j * vectors + r];
        s[j * vectors + r] = x;
      }
    group_.sync();
  }

  /// Computes P and dP of the keys. A team computes the product in shared memory, in S.
  ATTOSCOPE_HOST_DEVICE void find_weights(int first, int end, Array p, Array dp) {
    if (!rule_.finds_state) find_probabilities(first, end, p);
    const KeysProduct<T> product_of{.a = rule_.v + static_cast<std::ptrdiff_t>(first) * rule_.width_v,
                                    .m_stride = rule_.width_v,
                                    .k_stride = 1,
                                    .b = d_o_,
                                    .c = products_of(dp),
                                    .m = end - first,
                                    .depth = rule_.dp_sum.accumulator == Accumulator::fma ? job_.d_v : rule_.width_v,
                                    .step = random_step(GradStep::dp_step),
                                    .random = random(),
                                    .first_m = first,
                                    .group = group_};
    if (rule_.dp_sum.accumulator == Accumulator::fma) {
      product<false>(product_of, rule_[GradStep::dp_step], false);
    } else {
      add_in_blocks(product_of, rule_.dp_sum);
    }
    if constexpr (has_teams) {
      fill(dp, end - first, GradStep::dP, [x = vec(scratch_.S)](int i, int) { return x[i]; }, first);
    } else {
      round_all(dp, end - first, GradStep::dP, first);
    }
  }
  ATTOSCOPE_HOST_DEVICE TileArray<T> products_of([[maybe_unused]] Array x) const {
    if constexpr (has_teams) {
      return scratch_.S;
    } else {
      return x;
    }
  }
  template <class P>
  ATTOSCOPE_HOST_DEVICE void add_in_blocks(const P& p, const BlockSum& sum) const {
    if constexpr (std::is_same_v<T, float>)
      accumulated_product(BlockProduct<P>{.p = p, .sum = sum, .exponents_a = exponents_a_, .exponents_b = exponents_b_});
  }
  ATTOSCOPE_HOST_DEVICE void find_probabilities(int first, int end, Array p) {
    enter_keys(first, end);
    this->scores_again();
    if (rule_.normalises) {
      this->exponentials(state_.m);
      this->normalise();
    }
    turn_keys();
    probabilities(p, first);
    clear_rows_without_keys(p, end - first);
  }

  /// Computes P from S into `p`.
  ATTOSCOPE_HOST_DEVICE void probabilities(Array p, int first) {
    const auto fill_p = [&](auto f) { fill(p, keys(), GradStep::probability, f, first); };
    const auto s = vec(scratch_.S);
    const auto lse = vec(lse_);
    const V unit = splat<V>(job_.exp2.score_unit), c = splat<V>(job_.exp2.scale);
    V below[vectors];
    for (int r = 0; r < vectors; ++r)
      below[r] =
          rule_.exponential == GradExponential::natural && rule_.scale_at != ScaleAt::K ? -lse[r] : -(lse[r] * log2_e<T>);
    if (rule_.normalises) return fill_p([s](int i, int) { return s[i]; });
    if (job_.mask_tensor.terms != nullptr) each_pair(keys(), [&](int i, int r) { s[i] = s[i] - lowest(r); });
    if (rule_.scale_at == ScaleAt::K) return fill_p([&](int i, int r) { return exponential2(s[i] + below[r]); });
    switch (rule_.exponential) {
      case GradExponential::natural:
        return fill_p([&](int i, int r) { return exponential(fused(s[i], unit, below[r])); });
      case GradExponential::exp2:
        return fill_p([&](int i, int r) { return exponential2(fused(s[i], c, below[r])); });
      case GradExponential::exp2_twice:
        return fill_p([&](int i, int r) { return exponential2((s[i] * unit) * log2_e<T> + below[r]); });
    }
  }

  /// Replaces dP in `ds` by dS, then rounds P for dV. `at_list` is the list index of the first key.
  ATTOSCOPE_HOST_DEVICE void differ(int at_list, int first, int end, Array p, Array ds) {
    const int count = end - first;
    if (job_.softcap != 0) slopes(first, end);
    const bool tells = task_.lost != nullptr || task_.lost_count != nullptr;
    const Array dp = task_.dp != nullptr ? Array(task_.dp) + at(at_list) : dp_;
    const auto y = vec(ds), x = vec(p), delta = vec(delta_), t = vec(tanh_);
    if (tells || task_.dp != nullptr) each_pair(count, [y, to = vec(dp)](int i, int) { to[i] = y[i]; });
    if (rule_[GradStep::centred].rounds())
      fill(ds, count, GradStep::centred, [y, delta](int i, int r) { return y[i] - delta[r]; }, first);
    const bool centred = rule_[GradStep::centred].rounds();
    V less[vectors];
    for (int r = 0; r < vectors; ++r) less[r] = centred ? V{} : delta[r];
    if (job_.softcap == 0 && rule_.factors.dS == 1) {
      fill(ds, count, GradStep::dS, [&](int i, int r) { return x[i] * (y[i] - less[r]); }, first);
    } else {
      const bool capped = job_.softcap != 0;
      const T factor = rule_.factors.dS;
      const auto slope = [&](V s, int i) { return (capped ? s * fused(-t[i], t[i], splat<V>(1)) : s) * factor; };
      fill(ds, count, GradStep::dS, [&](int i, int r) { return slope(x[i] * (y[i] - less[r]), i); }, first);
    }
    if (tells) find_lost(at_list, first, end, {p, dp, ds});
    if (task_.p != nullptr) round_all(p, count, GradStep::P, first);
  }

  /// P, dP and the rounded dS of some keys.
  struct Pairs {
    Array p, dp, ds;
  };
  /// Marks the pairs whose dS is 0 but would not be 0 if P, dP and delta were combined exactly. The vote of a team also keeps
  /// the last keys' marks until they are counted.
  ATTOSCOPE_HOST_DEVICE void find_lost(int at_list, int first, int end, const Pairs& x) {
    const int count = end - first;
    const auto lost = vec(task_.lost != nullptr ? Array(task_.lost) + at(at_list) : lost_);
    const auto p = vec(x.p), dp = vec(x.dp), ds = vec(x.ds), t = vec(tanh_);
    const auto delta = vec(delta_), from = vec(first_), to = vec(end_);
    const V one = splat<V>(1), none{};
    V zeros[vectors]{};
    each_pair(count, [&](int i, int r) { zeros[r] = ds[i] == none ? one : zeros[r]; });
    if (task_.lost != nullptr) each_pair(count, [&](int i, int) { lost[i] = none; });
    bool any = false;
    for (int lane = 0; lane < R; ++lane) any |= lane_of(zeros[lane / Lanes<T>::width], lane % Lanes<T>::width) != 0;
    if (group_.all(!any)) return;
    each_pair(count, [&](int i, int r) {
      const V key = splat<V>(static_cast<T>(first + i / vectors));
      V is_lost = ds[i] == none ? (p[i] == none ? none : one) : none;
      is_lost = dp[i] == delta[r] ? none : is_lost;
      if (job_.softcap != 0) is_lost = t[i] * t[i] == one ? none : is_lost;
      lost[i] = key < from[r] ? none : (key < to[r] ? is_lost : none);
    });
    if (task_.lost_count != nullptr) count_lost(lost, count);
  }
  /// Adds the number of lost dS of `count` keys to the rows' counts; the leading warp stores them.
  template <class Numbers>
  ATTOSCOPE_HOST_DEVICE void count_lost(Numbers lost, int count) const {
    V sums[vectors]{};
    group_.sync();  // all warps' keys are written
    each_number_of_rows(count, sums, [&](V sum, int i) { return sum + lost[i]; });
    for (int lane = 0; group_.leads() && lane < block_.count; ++lane)
      *in_global(task_.lost_count + block_.rows[lane]) +=
          static_cast<std::int64_t>(lane_of(sums[lane / Lanes<T>::width], lane % Lanes<T>::width));
  }

  /// Computes tanh(score / softcap) of the keys.
  ATTOSCOPE_HOST_DEVICE void slopes(int first, int end) {
    enter_keys(first, end);
    this->products();
    turn_keys();
    const auto s = vec(scratch_.S);
    const auto t = vec(tanh_);
    const T cap = job_.softcap, scale = job_.scale;
    each_pair(end - first, [&](int i, int) { t[i] = soft_capped(scale * s[i], cap) / cap; });
  }

  const GradientRule<T>& rule_;
  const RowsTask<T>& task_;
  Array d_o_, given_, o_;            // [column][row]
  Array lse_, delta_, first_, end_;  // range [first, end) of the keys that a row sees, from key 0
  Array p_, ds_, dp_, lost_, tanh_;  // of a chunk of keys
  Array own_ds_{};                   // [key][row]
  LaneArray<std::int16_t> exponents_a_{}, exponents_b_{};
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
