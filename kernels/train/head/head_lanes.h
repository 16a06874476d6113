/// One head of one sequence, for a group of lanes: the observer that stores m and l of its forward pass, and the backward pass
/// (its rule is written in kernels/train/head/head.h). The same code runs in a CPU's vectors and in a GPU's warps.
#pragma once

#include "kernels/lanes/attention_lanes.h"
#include "kernels/train/head/head.h"
#include "kernels/train/head/row_product.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Stores m and l of a head's rows when AttentionBlock is done.
template <class T>
struct HeadObserver {
  static constexpr bool keeps = false, is_partial = false;
  T *m = nullptr, *l = nullptr;  ///< [row]

  ATTOSCOPE_HOST_DEVICE_INLINE WorkRange work_range() const { return {}; }
  ATTOSCOPE_HOST_DEVICE_INLINE void check() const {}
  ATTOSCOPE_HOST_DEVICE_INLINE bool wanted() const { return false; }
  ATTOSCOPE_HOST_DEVICE_INLINE int kept_lane(const RowBlock&) const { return -1; }
  ATTOSCOPE_HOST_DEVICE_INLINE void tile(const RowBlock&, const TileView<T>&) const {}
  ATTOSCOPE_HOST_DEVICE void state(const RowBlock& block, const T* row_m, const T* row_l) const {
    for (int lane = 0; lane < block.count; ++lane) {
      m[block.rows[lane]] = row_m[lane * lane_stride];
      l[block.rows[lane]] = row_l[lane * lane_stride];
    }
  }
};

/// Shared memory of a team for S of a tile in training: as much as every GPU has beside the slabs by default.
inline constexpr std::size_t head_tile_room = 28 * 1024;

/// A head's part of one of the model's matrices.
template <class T>
struct HeadColumns {
  const T* first = nullptr;  ///< its first row and column
  std::int64_t row_stride = 0;
};

/// out[row][c] = x rounded by the input step, contiguous n x d; `reversed`: from the last row to the first. `tensor` 0, 1, 2
/// tells Q, K, V apart for stochastic rounding. Each lane of a group does its own columns.
template <class T>
ATTOSCOPE_HOST_DEVICE void gather(const HeadColumns<T>& x, int n, int d, const RounderPlan<T>& plan, std::uint64_t seed,
                                  int tensor, bool reversed, int lane, T* out) {
  const bool stochastic = plan.kind == RounderKind::stochastic;
  with_rounder(stochastic ? RounderPlan<T>{} : plan, Step::input, RandomBits<T>{}, [&](auto rounder) {
    for (int row = 0; row < n; ++row) {
      const T* from = x.first + row * x.row_stride;
      T* to = out + static_cast<std::ptrdiff_t>(reversed ? n - 1 - row : row) * d;
      for (int c = 0; c < d; c += group_width<T>)
        for (int r = 0; r < own_vectors; ++r) store_row(to + c, r, d - c, lane, rounder(loaded_row(from + c, r, d - c, lane)));
    }
  });
  for (int row = 0; stochastic && row < n; ++row) {
    T* to = out + static_cast<std::ptrdiff_t>(reversed ? n - 1 - row : row) * d;
    for (int c = lane; c < d; c += group_size)
      to[c] = round_stochastic(plan.format, x.first[row * x.row_stride + c], random_bits(seed, Step::input, row, c, tensor));
  }
}

/// Inputs and outputs of a head's backward pass.
template <class T>
struct HeadMatrices {
  const T *q = nullptr, *k = nullptr, *v = nullptr, *d_o = nullptr;  ///< gathered, n x d; see RowProduct::b
  const T *m = nullptr, *l = nullptr;                                ///< [row]
  const T* o = nullptr;                                              ///< row by row at row_stride, as are
  T *d_q = nullptr, *d_k = nullptr, *d_v = nullptr;                  ///< these
  std::int64_t row_stride = 0;
  std::uint64_t seed = 0;  ///< see head_seed
};

/// The backward pass of a head: `begin`, then `rows` and `columns` of one block of query rows after the other, then `end`. All
/// lanes of a group must have finished one of these before a lane begins the next. If several groups share a head, each first
/// does `begin`, `rows` and `queries` for one block of rows, with the arrays of that block; then each does `keys` and `end` for
/// one block of keys, with the arrays of all blocks of rows in turn.
template <class T>
class HeadGradientBlock {
 protected:
  using L = Lanes<T>;
  using V = typename L::V;
  using Array = LaneArray<T>;
  static constexpr int N = own_vectors, own = own_width<T>, group_rows = group_width<T>;

 public:
  ATTOSCOPE_HOST_DEVICE HeadGradientBlock(const HeadRule<T>& rule, const HeadMatrices<T>& head, int lane,
                                          const LaneGroup& group, LaneArena& arena)
      : rule_(rule), job_(rule.job), head_(head), lane_(lane), group_(group), n_(rule.job.n), d_(rule.job.d) {
    const std::size_t width = own, keys = static_cast<std::size_t>(n_) * width, columns = static_cast<std::size_t>(d_) * width;
    column_numbers_ = arena.template take<T>(static_cast<std::size_t>((d_ - 1) / group_rows + 1) * width);
    for (Array* row : {&rows_, &m_, &l_, &L_, &delta_}) *row = arena.template take<T>(width);
    for (Array* matrix : {&q_, &d_o_, &o_}) *matrix = arena.template take<T>(columns);
    for (Array* matrix : {&p_, &ds_}) *matrix = arena.template take<T>(keys);
  }

  ATTOSCOPE_HOST_DEVICE int blocks() const { return (n_ - 1) / group_rows + 1; }

  ATTOSCOPE_HOST_DEVICE void begin() {
    for (int c = 0; c < d_; c += group_rows)
      for (int x = 0; x < own; ++x) column_numbers_[c / group_size + x] = static_cast<T>(c + place_of(x, lane_));
  }

  /// P and dS of the block's rows.
  ATTOSCOPE_HOST_DEVICE void rows(int block) {
    enter(block);
    load_rows();
    scores();
    weigh();
    differences();
    if (rule_[GradStep::P].rounds()) fill(p_, GradStep::P, [p = vec(p_)](int i, int) { return p[i]; });
  }

  /// dQ of the block's rows, and their contribution to dK and dV.
  ATTOSCOPE_HOST_DEVICE void columns(int block) {
    queries(block);
    keys(block, 0, block);
  }

  /// dQ of the block's rows.
  ATTOSCOPE_HOST_DEVICE void queries(int block) {
    enter(block);
    const T scale = job_.scale * job_.exp2.score_unit;
    RowProduct<T> dq = over_columns(ds_, head_.k, head_.d_q + first_ * head_.row_stride, GradStep::dq_step);
    dq.m_stride = 1;
    dq.k_stride = group_rows;
    dq.m = count_;
    dq.end = first_ + 1;
    dq.end_shift = 1;
    dq.first_m = first_;
    row_product(dq, rule_[GradStep::dq_step]);
    store_scaled(head_.d_q, first_, first_ + count_, scale, GradStep::dQ);
  }

  /// The contribution of the block's rows to dK and dV of the keys in blocks from .. to; `to` is at most the block itself.
  ATTOSCOPE_HOST_DEVICE void keys(int block, int from, int to) {
    enter(block);
    const KeyRange range{from * group_rows, to < block ? (to + 1) * group_rows : first_, to == block};
    over_rows(p_, head_.d_o, head_.d_v, range, GradStep::dv_step);
    over_rows(ds_, head_.q, head_.d_k, range, GradStep::dk_step);
  }

  ATTOSCOPE_HOST_DEVICE void end() { end(0, blocks() - 1); }
  /// dK and dV of the keys of blocks from .. to.
  ATTOSCOPE_HOST_DEVICE void end(int from, int to) {
    const int first = from * group_rows, last = to < blocks() - 1 ? (to + 1) * group_rows : n_;
    if (rule_[GradStep::dV].rounds()) store_scaled(head_.d_v, first, last, T{1}, GradStep::dV);
    store_scaled(head_.d_k, first, last, job_.scale * job_.exp2.score_unit, GradStep::dK);
  }

 protected:
  ATTOSCOPE_HOST_DEVICE static auto vec(Array x) { return as_vectors(x); }
  /// The array of the whole group.
  ATTOSCOPE_HOST_DEVICE T* whole(Array x) const { return first_of(x) - (group_size == 1 ? 0 : lane_); }

  ATTOSCOPE_HOST_DEVICE void enter(int block) {
    first_ = block * group_rows;
    count_ = n_ - first_ < group_rows ? n_ - first_ : group_rows;
    keys_ = first_ + count_;
  }

  /// Q, dO and O transposed into lanes, and m and l of the forward pass. Lanes without a row repeat the last one.
  ATTOSCOPE_HOST_DEVICE void load_rows() {
    for (int x = 0; x < own; ++x) {
      const int place = place_of(x, lane_), row = first_ + (place < count_ ? place : count_ - 1);
      rows_[x] = static_cast<T>(row);
      m_[x] = head_.m[row];
      l_[x] = head_.l[row];
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * d_;
      for (int c = 0; c < d_; ++c) {
        q_[c * own + x] = head_.q[at + c];
        d_o_[c * own + x] = head_.d_o[at + c];
      }
      for (int c = 0; rule_.delta_from == DeltaFrom::output && c < d_; ++c)
        o_[c * own + x] = head_.o[row * head_.row_stride + c];
    }
    const bool merged = job_.method.algorithm == Algorithm::split_kv;
    const T lift = static_cast<T>(job_.method.p_exponent) * static_cast<T>(0x1.62e42fefa39efp-1);
    for (int r = 0; r < N; ++r) {
      const V m = vec(m_)[r], log_l = logarithm(vec(l_)[r]);
      vec(L_)[r] = merged ? m + log_l : m * job_.exp2.score_unit + (log_l - lift);
    }
  }

  // --- rounding ---------------------------------------------------------------------------------------------------------

  /// x[key] = round(f(i, r)) for the block's keys; `by_place`: keys are numbered as the forward pass stores them.
  template <class F>
  ATTOSCOPE_HOST_DEVICE void fill(Array x, const RounderPlan<T>& plan, Step step, bool by_place, F f) {
    const auto out = vec(x);
    const int first = by_place && job_.reversed ? n_ - 1 : 0, sign = by_place && job_.reversed ? -1 : 1;
    with_rounder(plan, step, RandomBits<T>{head_.seed, rows_}, [&](auto rounder) {
      ATTOSCOPE_UNROLL(unroll 4)
      for (int j = 0; j < keys_; ++j)
        for (int r = 0; r < N; ++r) out[j * N + r] = rounder(f(j * N + r, r), Where{r, first + j * sign, 0});
    });
  }
  template <class F>
  ATTOSCOPE_HOST_DEVICE void fill(Array x, Step step, F f) {
    fill(x, job_[step], step, true, f);
  }
  template <class F>
  ATTOSCOPE_HOST_DEVICE void fill(Array x, GradStep step, F f) {
    fill(x, rule_[step], random_step(step), false, f);
  }

  // --- rows in the lanes --------------------------------------------------------------------------------------------------

  /// One element for every key and row: rows of `keys` times the transposed rows in `b`.
  ATTOSCOPE_HOST_DEVICE RowProduct<T> over_keys(const T* keys, Array b, Array c, Step step) const {
    return {.a = keys,
            .m_stride = d_,
            .k_stride = 1,
            .b = whole(b),
            .c = whole(c),
            .b_stride = group_rows,
            .c_stride = group_rows,
            .columns = group_rows,
            .m = keys_,
            .end = d_,
            .step = step,
            .seed = head_.seed,
            .column_numbers = rows_,
            .lane = lane_,
            .group = group_};
  }

  ATTOSCOPE_HOST_DEVICE void scores() {
    products();
    fill(p_, Step::S, [p = vec(p_), scale = splat<V>(job_.scale)](int i, int) { return scale * p[i]; });
  }
  /// q.k in place of S.
  ATTOSCOPE_HOST_DEVICE void products() {
    if (job_.method.order == SumOrder::sequential) {
      RowProduct<T> qk = over_keys(head_.k, q_, p_, Step::qk_step);
      qk.first_m = job_.reversed ? n_ - 1 : 0;
      qk.m_sign = job_.reversed ? -1 : 1;
      row_product(qk, job_[Step::qk_step]);
    } else {
      ordered_products();
    }
  }
  ATTOSCOPE_HOST_DEVICE_NOINLINE void ordered_products() {
    with_rounder(job_[Step::qk_step], Step::qk_step, RandomBits<T>{head_.seed, rows_}, [&](auto rounder) {
      for (int j = 0; j < keys_; ++j)
        for (int r = 0; r < N; ++r) {
          OrderedSum<V, decltype(rounder)> sum(job_.method.order, job_.method.sum_lanes, 0, rounder, r,
                                               job_.reversed ? n_ - 1 - j : j, 0);
          for (int c = 0; c < d_; ++c)
            sum.add_product(splat<V>(head_.k[static_cast<std::ptrdiff_t>(j) * d_ + c]), vec(q_)[c * N + r],
                            [](V x, V) { return x; });
          vec(p_)[j * N + r] = sum.total();
        }
    });
  }

  /// P, dP and delta from S.
  ATTOSCOPE_HOST_DEVICE void weigh() {
    probabilities();
    if (rule_.delta_from == DeltaFrom::output) delta_of_output();
    output_products();
    if (rule_.delta_from == DeltaFrom::probabilities) delta_of_probabilities();
  }

  ATTOSCOPE_HOST_DEVICE void probabilities() {
    const auto p = vec(p_);
    if (rule_.normalises) {
      exponents();
      raise();
      fill(p_, Step::P, [p, l = vec(l_)](int i, int r) { return p[i] / l[r]; });
      if (rule_[GradStep::probability].rounds()) fill(p_, GradStep::probability, [p](int i, int) { return p[i]; });
    } else {
      const V unit = splat<V>(job_.exp2.score_unit);
      fill(p_, GradStep::probability, [p, unit, L = vec(L_)](int i, int r) { return exponential(fused(p[i], unit, -L[r])); });
    }
  }
  ATTOSCOPE_HOST_DEVICE bool exp2() const { return job_.method.exponential == ExponentialKind::exp2; }
  ATTOSCOPE_HOST_DEVICE void exponents() {
    const auto p = vec(p_), m = vec(m_);
    if (exp2()) {
      fill(p_, Step::shifted, [p, m, c = splat<V>(job_.exp2.scale)](int i, int r) { return fused(p[i], c, -(m[r] * c)); });
    } else {
      fill(p_, Step::shifted, [p, m](int i, int r) { return p[i] - m[r]; });
    }
  }
  ATTOSCOPE_HOST_DEVICE_NOINLINE void raise() {
    const auto p = vec(p_);
    const T lift = power_of_two<T>(job_.method.p_exponent);
    const int degree = job_.method.exp2_degree;
    if (!exp2()) {
      fill(p_, Step::e, [p, lift](int i, int) { return exponential(p[i]) * lift; });
    } else if (degree == 0) {
      fill(p_, Step::e, [p, lift](int i, int) { return exponential2(p[i]) * lift; });
    } else {
      fill(p_, Step::e, [p, lift, degree](int i, int) { return exponential2_polynomial(p[i], degree) * lift; });
    }
  }

  ATTOSCOPE_HOST_DEVICE void output_products() {
    row_product(over_keys(head_.v, d_o_, ds_, random_step(GradStep::dp_step)), rule_[GradStep::dp_step]);
    if (rule_[GradStep::dP].rounds()) fill(ds_, GradStep::dP, [x = vec(ds_)](int i, int) { return x[i]; });
  }

  /// delta = round(sum of term(sum, i, r) over i < count).
  template <class Term>
  ATTOSCOPE_HOST_DEVICE void sum_delta(int count, Term term) {
    with_rounder(rule_[GradStep::delta_step], random_step(GradStep::delta_step), RandomBits<T>{head_.seed, rows_},
                 [&](auto rounder) {
                   for (int r = 0; r < N; ++r) {
                     V sum{};
                     for (int i = 0; i < count; ++i)
                       sum = term(sum, i, r, [&](V next) { return rounder(next, Where{r, i, 0}); });
                     vec(delta_)[r] = sum;
                   }
                 });
    with_rounder(rule_[GradStep::delta], random_step(GradStep::delta), RandomBits<T>{head_.seed, rows_}, [&](auto rounder) {
      for (int r = 0; r < N; ++r) vec(delta_)[r] = rounder(vec(delta_)[r], Where{r, 0, 0});
    });
  }
  ATTOSCOPE_HOST_DEVICE void delta_of_output() {
    sum_delta(d_, [x = vec(d_o_), y = vec(o_)](V sum, int c, int r, auto round) {
      return round(fused(x[c * N + r], y[c * N + r], sum));
    });
  }
  ATTOSCOPE_HOST_DEVICE void delta_of_probabilities() {
    sum_delta(keys_, [x = vec(p_), y = vec(ds_), row = vec(rows_)](V sum, int j, int r, auto round) {
      const V next = round(fused(x[j * N + r], y[j * N + r], sum)), key = splat<V>(static_cast<T>(j));
      return key > row[r] ? sum : next;
    });
  }

  /// dS = P * (dP - delta).
  ATTOSCOPE_HOST_DEVICE void differences() {
    const auto p = vec(p_), x = vec(ds_), delta = vec(delta_);
    if (rule_[GradStep::centred].rounds()) {
      fill(ds_, GradStep::centred, [x, delta](int i, int r) { return x[i] - delta[r]; });
      fill(ds_, GradStep::dS, [p, x](int i, int) { return p[i] * x[i]; });
    } else {
      fill(ds_, GradStep::dS, [p, x, delta](int i, int r) { return p[i] * (x[i] - delta[r]); });
    }
  }

  // --- columns in the lanes -----------------------------------------------------------------------------------------------

  /// Rows of d elements: sums over the numbers in `a` times rows of `b`.
  ATTOSCOPE_HOST_DEVICE RowProduct<T> over_columns(Array a, const T* b, T* c, GradStep step) const {
    return {.a = whole(a),
            .b = b,
            .c = c,
            .b_stride = d_,
            .c_stride = head_.row_stride,
            .columns = d_,
            .step = random_step(step),
            .seed = head_.seed,
            .column_numbers = column_numbers_,
            .lane = lane_,
            .group = group_};
  }

  /// Keys [first, end) before the block; has_own: the block's own keys belong to the range too.
  struct KeyRange {
    int first, end;
    bool has_own;
  };

  /// Adds the block's rows to the sums of keys: sums of keys before the block continue, those of its own keys begin.
  ATTOSCOPE_HOST_DEVICE void over_rows(Array a, const T* b, T* c, const KeyRange& range, GradStep step) {
    RowProduct<T> older = over_columns(a, b + static_cast<std::ptrdiff_t>(first_) * d_, c, step);
    older.m_stride = group_rows;
    older.k_stride = 1;
    older.end = count_;
    older.first_k = first_;
    RowProduct<T> fresh = older;
    older.a += static_cast<std::ptrdiff_t>(range.first) * group_rows;
    older.c += range.first * head_.row_stride;
    older.m = range.end - range.first;
    older.first_m = range.first;
    older.resume = true;
    row_product(older, rule_[step]);
    if (!range.has_own) return;
    fresh.a += static_cast<std::ptrdiff_t>(first_) * group_rows;
    fresh.c += first_ * head_.row_stride;
    fresh.m = count_;
    fresh.first_shift = 1;
    fresh.first_m = first_;
    row_product(fresh, rule_[step]);
  }

  /// x = round(scale * x) in rows first .. end - 1.
  ATTOSCOPE_HOST_DEVICE void store_scaled(T* x, int first, int end, T scale, GradStep step) {
    for (int c = 0; c < d_; c += group_rows)
      with_rounder(rule_[step], random_step(step), RandomBits<T>{head_.seed, column_numbers_ + c / group_size},
                   [&](auto rounder) {
                     for (int row = first; row < end; ++row)
                       for (int r = 0; r < N; ++r) {
                         T* at = x + row * head_.row_stride + c;
                         store_row(at, r, d_ - c, lane_, rounder(scale * loaded_row(at, r, d_ - c, lane_), Where{r, row, 0}));
                       }
                   });
  }

  const HeadRule<T>& rule_;
  const Job<T>& job_;
  const HeadMatrices<T>& head_;
  const int lane_;
  const LaneGroup group_;
  const int n_, d_;
  int first_ = 0, count_ = 0, keys_ = 0;  // the block's first row, its rows, and the keys that they see
  Array column_numbers_, rows_, m_, l_, L_, delta_;
  Array q_, d_o_, o_;  // [column][row]
  Array p_, ds_;       // [key][row]
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
