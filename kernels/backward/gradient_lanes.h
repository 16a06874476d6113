/// The backward pass of one block of query rows, a row in each lane; and that of some keys over many blocks, columns in the
/// lanes. README.md is the rule.
#pragma once

#include "kernels/backward/column_product.h"
#include "kernels/backward/tile_order.h"
#include "kernels/lanes/tile_steps.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// P and dS of the block's rows, their delta, and dQ. S comes from the code of the forward pass.
template <class T>
class GradientRows : private TileSteps<T, CpuObserver<T>> {
  using Base = TileSteps<T, CpuObserver<T>>;
  using Base::job_, Base::block_, Base::group_, Base::observer_, Base::rows_, Base::tile_, Base::state_, Base::scratch_;
  using Base::R, Base::vectors, Base::infinity;
  using Base::vec, Base::random, Base::keys;
  using typename Base::Array, typename Base::V;

 public:
  GradientRows(const GradientRule<T>& rule, const RowsTask<T>& task, const StopSign& stop, Arena& arena)
      : Base(rule.job, task.block, LaneGroup{task.block.count}, CpuObserver<T>{nullptr, stop}, arena),
        rule_(rule),
        task_(task) {
    const auto take = [&](int count) { return arena.take<T>(static_cast<std::size_t>(count) * R); };
    for (Array* matrix : {&d_o_, &o_}) *matrix = take(job_.d_v);
    for (Array* row : {&lse_, &delta_, &first_, &end_}) *row = take(1);
    for (Array* chunk : {&p_, &ds_, &tanh_}) *chunk = take(key_chunk);
    if (task.p == nullptr) own_ds_ = take(job_.n);
    sums_ = take(rule.width * (1 + buffers()));
    for (int** of : {&key_first_, &key_end_, &numbers_}) *of = arena.take<int>(static_cast<std::size_t>(R));
    holds_ = arena.take<int>(static_cast<std::size_t>(R * buffers()));
  }

  void run() {
    load();
    if (rule_.delta_from == DeltaFrom::output) delta_of_output();
    if (rule_.delta_from == DeltaFrom::probabilities) delta_of_probabilities();
    store_statistics();
    each_chunk(task_.keys, [&](int i, int first, int end) {
      const Array p = task_.p != nullptr ? task_.p + at(i) : p_, ds = of_ds() + at(i);
      if (!is_held()) weigh(first, end, p, ds);
      differ(first, end, p, ds);
    });
    if (task_.d_q != nullptr) queries();
  }

 private:
  static std::ptrdiff_t at(int key) { return static_cast<std::ptrdiff_t>(key) * R; }
  int buffers() const { return rule_.order == GradOrder::buffers ? std::min(rule_.buffers, tiles()) : 1; }
  int tiles() const { return (job_.n - 1) / rule_.block_k + 1; }
  Array of_ds() const { return task_.ds != nullptr ? task_.ds : own_ds_; }
  /// True if P and dP of all keys are kept from delta's sum.
  bool is_held() const {
    return rule_.delta_from == DeltaFrom::probabilities && task_.p != nullptr && task_.keys.keys == nullptr;
  }

  // --- rows -----------------------------------------------------------------------------------------------------------

  /// Q, dO and O in lanes, the keys that each row sees, and L.
  void load() {
    this->load_rows();
    for (int lane = 0; lane < R; ++lane) {
      const int row = block_.row_of(lane);
      const T* const d_o = rule_.d_o + static_cast<std::ptrdiff_t>(row) * rule_.width_v;
      const double* const o = rule_.o + static_cast<std::ptrdiff_t>(row) * job_.d_v;
      for (int c = 0; c < job_.d_v; ++c) {
        d_o_[c * R + lane] = d_o[c];
        o_[c * R + lane] = static_cast<T>(o[c]);
      }
      const Keys seen = rule_.keys_of(row);
      first_[lane] = static_cast<T>(seen.first);
      end_[lane] = static_cast<T>(seen.end);
      state_.m[lane] = rule_.m[row];
      state_.l[lane] = rule_.l[row];
    }
    const V unit = splat<V>(job_.exp2.score_unit);
    fill(lse_, 1, GradStep::lse, [&](int, int r) {
      const V m = vec(state_.m)[r], log_l = logarithm(vec(state_.l)[r]);
      return rule_.is_merged ? m + log_l : fused(m, unit, log_l - job_.P.log_lift);
    });
  }

  /// x[i] = round(f(i, r)) for `count` numbers a row, numbered from `number` on.
  template <class F>
  void fill(Array x, int count, GradStep step, F f, int number = 0) const {
    const auto out = vec(x);
    with_rounder(rule_[step], random_step(step), random(), [&](auto rounder) {
      ATTOSCOPE_UNROLL(unroll 2)
      for (int j = 0; j < count; ++j)
        for (int r = 0; r < vectors; ++r) out[j * vectors + r] = rounder(f(j * vectors + r, r), Where{r, number + j, 0});
    });
  }
  void round_all(Array x, int count, GradStep step, int number) const {
    if (rule_[step].rounds()) fill(x, count, step, [x = vec(x)](int i, int) { return x[i]; }, number);
  }

  /// delta = round(sum - dL).
  void finish_delta() {
    for (int lane = 0; rule_.d_lse != nullptr && lane < R; ++lane)
      delta_[lane] -= static_cast<T>(rule_.d_lse[block_.row_of(lane)]);
    round_all(delta_, 1, GradStep::delta, 0);
  }

  void delta_of_output() {
    with_rounder(rule_[GradStep::delta_step], random_step(GradStep::delta_step), random(), [&](auto rounder) {
      for (int r = 0; r < vectors; ++r) {
        V sum{};
        for (int c = 0; c < job_.d_v; ++c)
          sum = rounder(fused(vec(d_o_)[c * vectors + r], vec(o_)[c * vectors + r], sum), Where{r, c, 0});
        vec(delta_)[r] = sum;
      }
    });
    finish_delta();
  }

  void delta_of_probabilities() {
    for (int r = 0; r < vectors; ++r) vec(delta_)[r] = V{};
    each_chunk(KeyList{nullptr, job_.n}, [&](int i, int first, int end) {
      const Array p = is_held() ? task_.p + at(i) : p_, ds = is_held() ? task_.ds + at(i) : ds_;
      weigh(first, end, p, ds);
      with_rounder(rule_[GradStep::delta_step], random_step(GradStep::delta_step), random(), [&](auto rounder) {
        for (int r = 0; r < vectors; ++r) {
          V sum = vec(delta_)[r];
          for (int j = 0; j < end - first; ++j) {
            const V next = rounder(fused(vec(p)[j * vectors + r], vec(ds)[j * vectors + r], sum), Where{r, first + j, 0});
            const V key = splat<V>(static_cast<T>(first + j));
            sum = key < vec(first_)[r] ? sum : (key < vec(end_)[r] ? next : sum);
          }
          vec(delta_)[r] = sum;
        }
      });
    });
    finish_delta();
  }

  void store_statistics() const {
    for (int lane = 0; task_.delta != nullptr && lane < block_.count; ++lane) {
      const int row = block_.rows[lane];
      const bool sees_no_key = rule_.keys_of(row).empty();
      task_.delta[row] = sees_no_key ? 0 : static_cast<double>(delta_[lane]);
      task_.lse[row] = sees_no_key ? -std::numeric_limits<double>::infinity() : static_cast<double>(lse_[lane]);
    }
  }

  // --- keys -----------------------------------------------------------------------------------------------------------

  /// f(i, first, end) for the adjacent keys [first, end), from place i of the list on, that some row sees.
  template <class F>
  void each_chunk(const KeyList& list, F f) {
    if (!this->sees_keys()) return;
    const int low = job_.reversed ? job_.n - rows_.any.end : rows_.any.first,
              high = job_.reversed ? job_.n - rows_.any.first : rows_.any.end;
    for (int i = 0; i < list.count;) {
      const int key = list[i], whole = list.keys != nullptr ? key + 1 : std::min((key / key_chunk + 1) * key_chunk, job_.n);
      const int first = std::max(key, low), end = std::min(whole, high);
      if (first < end) f(i + first - key, first, end);
      i += whole - key;
      observer_.check();
    }
  }

  /// Enters the keys [first, end) as the forward pass stores them.
  void enter_keys(int first, int end) {
    const int j0 = job_.reversed ? job_.n - end : first;
    this->enter(0, j0, j0, j0 + end - first);
  }
  /// Turns the keys of S around if they are stored so.
  void turn_keys() {
    for (int i = 0, j = keys() - 1; job_.reversed && i < j; ++i, --j)
      for (int r = 0; r < vectors; ++r) std::swap(vec(scratch_.S)[i * vectors + r], vec(scratch_.S)[j * vectors + r]);
  }

  /// P and dP of the keys.
  void weigh(int first, int end, Array p, Array dp) {
    enter_keys(first, end);
    this->scores_again();
    if (rule_.normalises) {
      this->exponentials(state_.m);
      this->normalise();
    }
    turn_keys();
    probabilities(p, first);
    const KeysProduct<T> product_of{.a = rule_.v + static_cast<std::ptrdiff_t>(first) * rule_.width_v,
                                    .m_stride = rule_.width_v,
                                    .k_stride = 1,
                                    .b = d_o_,
                                    .c = dp,
                                    .m = end - first,
                                    .depth = job_.d_v,
                                    .step = random_step(GradStep::dp_step),
                                    .random = random(),
                                    .first_m = first,
                                    .group = group_};
    product<false>(product_of, rule_[GradStep::dp_step], false);
    round_all(dp, end - first, GradStep::dP, first);
  }

  /// P from S, in `p`.
  void probabilities(Array p, int first) {
    const auto fill_p = [&](auto f) { fill(p, keys(), GradStep::probability, f, first); };
    const auto s = vec(scratch_.S), lse = vec(lse_);
    const V unit = splat<V>(job_.exp2.score_unit), c = splat<V>(job_.exp2.scale);
    const V log2_e = splat<V>(static_cast<T>(0x1.71547652b82fep+0));
    V below[vectors];
    for (int r = 0; r < vectors; ++r)
      below[r] = rule_.exponential == GradExponential::natural && rule_.scale_at != ScaleAt::K ? -lse[r] : -(lse[r] * log2_e);
    if (rule_.normalises) return fill_p([s](int i, int) { return s[i]; });
    if (rule_.scale_at == ScaleAt::K) return fill_p([&](int i, int r) { return exponential2(s[i] + below[r]); });
    switch (rule_.exponential) {
      case GradExponential::natural:
        return fill_p([&](int i, int r) { return exponential(fused(s[i], unit, below[r])); });
      case GradExponential::exp2:
        return fill_p([&](int i, int r) { return exponential2(fused(s[i], c, below[r])); });
      case GradExponential::exp2_twice:
        return fill_p([&](int i, int r) { return exponential2((s[i] * unit) * log2_e + below[r]); });
    }
  }

  /// dS from P and dP, in place of dP; then P as it enters dV.
  void differ(int first, int end, Array p, Array ds) {
    const int count = end - first;
    if (job_.softcap != 0) slopes(first, end);
    const auto y = vec(ds), x = vec(p), delta = vec(delta_), t = vec(tanh_);
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
    if (task_.p != nullptr) round_all(p, count, GradStep::P, first);
  }

  /// tanh of the scores in units of the cap.
  void slopes(int first, int end) {
    enter_keys(first, end);
    this->products();
    turn_keys();
    const auto s = vec(scratch_.S), t = vec(tanh_);
    const T cap = job_.softcap, scale = job_.scale;
    for (int i = 0; i < (end - first) * vectors; ++i) t[i] = soft_capped(scale * s[i], cap) / cap;
  }

  // --- dQ -------------------------------------------------------------------------------------------------------------

  T* buffer(int b) const { return sums_ + at(rule_.width * (1 + b)); }

  /// dQ of the block's rows.
  void queries() {
    const int width = rule_.width, count = block_.count;
    for (int i = 0; i < count; ++i) numbers_[i] = block_.rows[i];
    for (int i = 0; i < count * buffers(); ++i) holds_[i] = 0;
    const TileOrder order(rule_.order, rule_.order_seed, task_.query_tile, tiles());
    for (int i = 0; i < tiles(); ++i) add_tile(order[i]);
    for (int b = 1; b < buffers(); ++b)
      for (int lane = 0; lane < count; ++lane)
        if (holds_[b * count + lane] != 0) add_row(lane, buffer(b), -1 - b, 0);
    const T factor = rule_.factors.dQ;
    T* const x = buffer(0);
    with_columns(GradStep::dQ, [&](auto rounder, int c0) {
      for (int lane = 0; lane < count; ++lane) {
        V& sum = *as_vectors(x + lane * width + c0);
        sum = holds_[lane] != 0 ? rounder(factor * sum, Where{0, numbers_[lane], 0}) : V{};
      }
    });
    for (int lane = 0; lane < count; ++lane)
      for (int c = 0; c < job_.d; ++c)
        task_.d_q[static_cast<std::ptrdiff_t>(task_.places[lane]) * job_.d + c] = static_cast<double>(x[lane * width + c]);
  }

  /// use(rounder, c0) for one vector of columns after the other.
  template <class Use>
  void with_columns(GradStep step, Use use) const {
    for (int c0 = 0; c0 < rule_.width; c0 += Lanes<T>::width)
      with_rounder(rule_[step], random_step(step), RandomBits<T>{job_.seed, rule_.column_numbers + c0},
                   [&](auto rounder) { use(rounder, c0); });
  }

  /// The key tile's dS.K, added to its buffer in the rows that see one of its keys.
  void add_tile(int tile) {
    const std::int64_t begin = static_cast<std::int64_t>(tile) * rule_.block_k;
    const int k0 = static_cast<int>(begin), k1 = static_cast<int>(std::min<std::int64_t>(begin + rule_.block_k, job_.n));
    bool any = false;
    for (int lane = 0; lane < block_.count; ++lane) {
      const Keys seen = rule_.keys_of(block_.rows[lane]);
      key_first_[lane] = clamp(seen.first, k0, k1) - k0;
      key_end_[lane] = clamp(seen.end, k0, k1) - k0;
      any |= key_first_[lane] < key_end_[lane];
    }
    if (!any) return;
    const ColumnProduct<T, false> dq{.a = of_ds() + at(k0),
                                     .b = rule_.k + static_cast<std::ptrdiff_t>(k0) * rule_.width,
                                     .c = sums_,
                                     .width = rule_.width,
                                     .m = block_.count,
                                     .first = key_first_,
                                     .end = key_end_,
                                     .step = random_step(GradStep::dq_step),
                                     .seed = job_.seed,
                                     .column_numbers = rule_.column_numbers,
                                     .numbers = numbers_,
                                     .first_k = k0};
    column_product(dq, rule_[GradStep::dq_step]);
    add_sums(tile);
  }

  /// Hands the tile's sums over to their buffer.
  void add_sums(int tile) {
    if (rule_[GradStep::dq_tile].rounds())
      with_columns(GradStep::dq_tile, [&](auto rounder, int c0) {
        for (int lane = 0; lane < block_.count; ++lane) {
          V& x = *as_vectors(sums_ + lane * rule_.width + c0);
          x = rounder(x, Where{0, numbers_[lane], tile});
        }
      });
    const int b = rule_.order == GradOrder::buffers ? tile % buffers() : 0;
    for (int lane = 0; lane < block_.count; ++lane)
      if (key_first_[lane] < key_end_[lane]) add_row(lane, sums_, tile, b);
  }

  /// x = round(x + row of `from`) in the lane's row of buffer b; x is that row if it held nothing.
  void add_row(int lane, const T* from, int number, int b) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(lane) * rule_.width;
    T* const x = buffer(b) + at;
    int& holds = holds_[b * block_.count + lane];
    if (holds == 0) {
      std::copy_n(from + at, rule_.width, x);
    } else {
      with_columns(GradStep::dq_sum, [&](auto rounder, int c0) {
        V& sum = *as_vectors(x + c0);
        sum = rounder(sum + *as_vectors(from + at + c0), Where{0, numbers_[lane], number});
      });
    }
    holds = 1;
  }

  const GradientRule<T>& rule_;
  const RowsTask<T>& task_;
  Array d_o_, o_;                    // [column][row]
  Array lse_, delta_, first_, end_;  // the keys [first, end) that a row sees, from key 0
  Array p_, ds_, tanh_;              // of a chunk of keys
  Array own_ds_ = nullptr;           // [key][row]
  T* sums_;                          // of a tile, then of every buffer: [row][column]
  int *key_first_, *key_end_, *numbers_, *holds_;
};

/// The lanes [first, end) of a block whose rows see a key. Rows of a block are adjacent, and both ends of the keys that a row
/// sees grow with the row.
template <class T>
Keys rows_of_key(const GradientRule<T>& rule, const RowBlock& block, int key) {
  const auto first_lane = [&](auto sees) {
    int low = 0, high = block.count;
    while (low < high) {
      const int middle = (low + high) / 2;
      sees(rule.keys_of(block.rows[middle])) ? high = middle : low = middle + 1;
    }
    return low;
  };
  if (rule.job.mask.kind == Mask::Kind::none) return {0, block.count};
  return {first_lane([key](Keys k) { return k.end > key; }), first_lane([key](Keys k) { return k.first > key; })};
}

/// dK and dV of some keys.
template <class T>
class GradientKeys {
  static constexpr int R = Lanes<T>::rows;

 public:
  GradientKeys(const GradientRule<T>& rule, const KeysTask<T>& task) : rule_(rule), task_(task) {}

  /// Adds the rows of the blocks to the sums.
  void add() const {
    for (int first = task_.first; first < task_.end; first += at_once)
      for (int block = 0; block < task_.block_count; ++block) add(block, first, std::min(task_.end, first + at_once));
  }

  void finish(double* d_k, double* d_v) const {
    finish(task_.d_k, rule_.width, rule_.job.d, rule_.factors.dK, GradStep::dK, d_k);
    finish(task_.d_v, rule_.width_v, rule_.job.d_v, T{1}, GradStep::dV, d_v);
  }

 private:
  static constexpr int at_once = 64;

  void add(int block, int first, int end) const {
    const RowBlock& rows = task_.blocks[block];
    int from[at_once], to[at_once], numbers[at_once];
    bool any = false;
    for (int i = first; i < end; ++i) {
      const int key = task_.keys[i];
      const Keys seen = rows_of_key(rule_, rows, key);
      from[i - first] = seen.first;
      to[i - first] = seen.end;
      numbers[i - first] = key;
      any |= !seen.empty();
    }
    if (!any) return;
    const std::ptrdiff_t at = (static_cast<std::ptrdiff_t>(block) * task_.keys.count + first) * R, row = rows.rows[0];
    ColumnProduct<T, true> sums{.m = end - first,
                                .first = from,
                                .end = to,
                                .resume = true,
                                .seed = rule_.job.seed,
                                .column_numbers = rule_.column_numbers,
                                .numbers = numbers,
                                .first_k = rows.rows[0]};
    const auto sum = [&](const T* a, const T* b, T* c, int width, GradStep step) {
      sums.a = a + at;
      sums.b = b + row * width;
      sums.c = c + static_cast<std::ptrdiff_t>(first) * width;
      sums.width = width;
      sums.step = random_step(step);
      column_product(sums, rule_[step]);
    };
    sum(task_.p, rule_.d_o, task_.d_v, rule_.width_v, GradStep::dv_step);
    sum(task_.ds, rule_.q, task_.d_k, rule_.width, GradStep::dk_step);
  }

  /// out = round(factor * sums), the task's rows of `columns` numbers.
  void finish(const T* sums, int width, int columns, T factor, GradStep step, double* out) const {
    using V = typename Lanes<T>::V;
    for (int c0 = 0; c0 < width; c0 += Lanes<T>::width)
      with_rounder(rule_[step], random_step(step), RandomBits<T>{rule_.job.seed, rule_.column_numbers + c0}, [&](auto rounder) {
        for (int i = task_.first; i < task_.end; ++i) {
          const V sum = *as_vectors(sums + static_cast<std::ptrdiff_t>(i) * width + c0);
          const V x = rounder(factor * sum, Where{0, task_.keys[i], 0});
          for (int c = c0; c < std::min(columns, c0 + Lanes<T>::width); ++c)
            out[static_cast<std::ptrdiff_t>(i) * columns + c] = static_cast<double>(x[c - c0]);
        }
      });
  }

  const GradientRule<T>& rule_;
  const KeysTask<T>& task_;
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
