/// Golden's backward pass in double-double, for experiments that work in double. A number of P, dS and the sums of dK and dV
/// has two parts.
#pragma once

#include "kernels/backward/gradient_keys.h"
#include "kernels/lanes/golden_lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

using DoubleDoubleV = DD<DoubleV>;

/// ln x in double-double for a finite x > 0: one Newton step from the double's logarithm.
inline DoubleDoubleV precise_logarithm(DoubleDoubleV x) {
  const DoubleV y = logarithm(x.high);
  const DoubleDoubleV one{splat<DoubleV>(1), DoubleV{}}, half{splat<DoubleV>(0.5), DoubleV{}};
  const DoubleDoubleV r = x * exponential(DoubleDoubleV{-y, DoubleV{}}) - one;
  return DoubleDoubleV{y, DoubleV{}} + (r - r * r * half);
}

/// P and dS of a block's rows, one row per lane: [key][part][lane].
class PreciseRows : private DoubleDoubleBlock<CpuObserver<double>> {
  using Base = DoubleDoubleBlock<CpuObserver<double>>;

 public:
  PreciseRows(const GradientRule<double>& rule, const RowsTask<double>& task, const StopSign& stop, Arena& arena)
      : Base(rule.job, task.block, {nullptr, stop}, arena), rule_(rule), task_(task) {
    d_o_ = arena.take<V>(static_cast<std::size_t>(job_.d_v));
    dp_ = arena.take<D>(static_cast<std::size_t>(job_.n));
    if (task.ds == nullptr) own_ds_ = arena.take<D>(static_cast<std::size_t>(job_.n));
  }

  void run() {
    load();
    if (begin_ >= stop_) return store_statistics({}, {});
    *m_ = splat<V>(-std::numeric_limits<double>::infinity());
    *l_ = D{};
    scores(begin_, stop_);
    exponentials(begin_, stop_);
    add_sink();
    find_weights();
    D delta{};
    for (int j = begin_; j < stop_; ++j) {
      dp_[j] = of_output(j);
      const D next = delta + s_[j] * dp_[j];
      delta = chosen(j, next, delta);
    }
    for (int lane = 0; rule_.d_lse != nullptr && lane < W; ++lane) set_lane(d_lse_, lane, rule_.d_lse[block_.row_of(lane)]);
    delta = delta - D{d_lse_, V{}};
    store_statistics(log_sum(), delta);
    for (int i = 0; i < task_.keys.count; ++i)
      if (const int j = task_.keys[i]; j >= begin_ && j < stop_) store_pair(i, j, delta);
  }

  /// Computes dQ from the task's dS.
  void queries() {
    load();
    const D* const ds = pairs();
    const D scale{splat<V>(rule_.factors.dQ), V{}};
    for (int c = 0; c < job_.d; ++c) {
      observer_.check();
      D sum{};
      for (int j = begin_; j < stop_; ++j)
        sum = chosen(j, sum + ds[j] * D{splat<V>(rule_.k[static_cast<std::ptrdiff_t>(j) * rule_.width + c]), V{}}, sum);
      const D x = sum * scale;
      for (int lane = 0; lane < block_.count; ++lane)
        if (task_.places[lane] >= 0)
          task_.d_q[static_cast<std::ptrdiff_t>(task_.places[lane]) * job_.d + c] = x.high[lane] + x.low[lane];
    }
  }

 private:
  static D* as_pairs(double* x) { return reinterpret_cast<D*>(x); }
  D* pairs() const { return task_.ds != nullptr ? as_pairs(task_.ds) : own_ds_; }
  D chosen(int j, D x, D otherwise) const { return {visible(j, x.high, otherwise.high), visible(j, x.low, otherwise.low)}; }

  void load() {
    load_rows();
    for (int lane = 0; lane < W; ++lane) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(block_.row_of(lane)) * rule_.width_v;
      for (int c = 0; c < job_.d_v; ++c) set_lane(d_o_[c], lane, rule_.d_o[at + c]);
    }
  }

  /// Replaces e by P.
  void find_weights() {
    const D l = *l_, one{splat<V>(1), V{}}, share = one / l;
    const V of_sink = job_.has_sink ? exponential(*m_ - job_.sink) : V{};
    for (int j = begin_; j < stop_; ++j) {
      const D p = chosen(j, s_[j] * share, D{});
      s_[j] = job_.has_sink ? D{sink_is_all() ? s_[j].high * of_sink : p.high, sink_is_all() ? V{} : p.low} : p;
    }
  }
  D log_sum() const {
    const D sum = D{*m_, V{}} + precise_logarithm(*l_);
    if (!job_.has_sink) return sum;
    return {sink_is_all() ? splat<V>(job_.sink) : sum.high, sink_is_all() ? V{} : sum.low};
  }

  D of_output(int j) const {
    D sum{};
    for (int c = 0; c < job_.d_v; ++c)
      sum = sum + two_product(splat<V>(rule_.v[static_cast<std::ptrdiff_t>(j) * rule_.width_v + c]), d_o_[c]);
    return sum;
  }

  /// 1 - tanh^2(score / softcap).
  D slope(int j) const {
    D sum{};
    for (int c = 0; c < job_.d; ++c)
      sum = sum + two_product(splat<V>(job_.k[static_cast<std::ptrdiff_t>(j) * job_.d + c]), q_[c]);
    const D one{splat<V>(1), V{}}, y = sum * D{splat<V>(job_.scale), V{}} / D{splat<V>(job_.softcap), V{}};
    const V minus_two = y.high < 0.0 ? splat<V>(2) : splat<V>(-2);
    const D t = exponential(D{y.high * minus_two, y.low * minus_two}), size = (one - t) / (one + t);
    return one - size * size;
  }

  void store_pair(int i, int j, D delta) {
    D ds = s_[j] * (dp_[j] - delta);
    if (job_.softcap != 0) ds = ds * slope(j);
    pairs()[task_.ds != nullptr ? i : j] = ds;
    if (task_.p != nullptr) as_pairs(task_.p)[i] = s_[j];
    if (task_.dp != nullptr) as_pairs(task_.dp)[i] = dp_[j];
  }

  void store_statistics(D lse, D delta) const {
    D sink{};
    if (job_.has_sink) sink = exponential(D{splat<V>(job_.sink), V{}} - lse) * delta;
    for (int lane = 0; task_.delta != nullptr && lane < block_.count; ++lane) {
      const int row = block_.rows[lane];
      const bool sees_no_key = job_.keys_of(row).empty();
      task_.delta[row] = sees_no_key ? 0 : delta.high[lane] + delta.low[lane];
      task_.lse[row] = sees_no_key ? -std::numeric_limits<double>::infinity() : lse.high[lane] + lse.low[lane];
      task_.sinks[row] = sees_no_key ? DD<double>{} : DD<double>{sink.high[lane], sink.low[lane]};
    }
  }

  const GradientRule<double>& rule_;
  const RowsTask<double>& task_;
  V* d_o_;
  D *dp_, *own_ds_ = nullptr;
  V d_lse_{};
};

/// dK and dV of some keys, columns in the lanes; a row of sums has the high parts, then the low parts.
class PreciseKeys {
  using V = DoubleV;
  using D = DD<V>;
  static constexpr int W = Lanes<double>::width;

 public:
  PreciseKeys(const GradientRule<double>& rule, const KeysTask<double>& task) : rule_(rule), task_(task) {}

  void add() const {
    for (int block = 0; block < task_.block_count; ++block)
      for (int i = task_.first; i < task_.end; ++i) {
        const Keys seen = rows_of_key(rule_, task_.blocks[block], task_.keys[i]);
        if (seen.empty()) continue;
        add(block, i, seen, task_.p, rule_.d_o, task_.d_v, rule_.width_v);
        add(block, i, seen, task_.ds, rule_.q, task_.d_k, rule_.width);
      }
  }
  void finish(double* d_k, double* d_v) const {
    finish(task_.d_k, rule_.width, rule_.job.d, rule_.factors.dK, d_k);
    finish(task_.d_v, rule_.width_v, rule_.job.d_v, 1, d_v);
  }

 private:
  void add(int block, int i, const Keys& seen, const double* a, const double* b, double* c, int width) const {
    const double* const own = a + (static_cast<std::ptrdiff_t>(block) * task_.keys.count + i) * 2 * W;
    for (int c0 = 0; c0 < width; c0 += W) {
      V *const high = as_vectors(c + static_cast<std::ptrdiff_t>(i) * 2 * width + c0), *const low = high + width / W;
      D sum{*high, *low};
      for (int lane = seen.first; lane < seen.end; ++lane) {
        const std::ptrdiff_t row = task_.blocks[block].rows[lane];
        const V x = *as_vectors(b + row * width + c0);
        sum = sum + D{splat<V>(own[lane]), splat<V>(own[W + lane])} * D{x, V{}};
      }
      *high = sum.high;
      *low = sum.low;
    }
  }
  void finish(const double* sums, int width, int columns, double factor, double* out) const {
    for (int i = task_.first; i < task_.end; ++i)
      for (int c0 = 0; c0 < width; c0 += W) {
        const V* const high = as_vectors(sums + static_cast<std::ptrdiff_t>(i) * 2 * width + c0);
        const D x = D{*high, high[width / W]} * D{splat<V>(factor), V{}};
        store_numbers(x.high + x.low, columns - c0, out + static_cast<std::ptrdiff_t>(i) * columns + c0);
      }
  }

  const GradientRule<double>& rule_;
  const KeysTask<double>& task_;
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
