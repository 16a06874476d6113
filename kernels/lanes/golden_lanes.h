/// The golden value of experiments in double: three-pass safe softmax in double-double, one row per lane.
#pragma once

#include "kernels/arithmetic/double_double.h"
#include "kernels/lanes/job.h"
#include "kernels/lanes/lanes.h"
#include "kernels/lanes/work_cursor.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// The observer selects the part of the work to do, and can stop the block.
template <class Observer>
class DoubleDoubleBlock {
 protected:
  using V = DoubleV;
  using D = DD<V>;
  using Cursor = WorkCursor<Observer>;
  static constexpr int W = Lanes<double>::width;

 public:
  static constexpr int rows = W;
  static constexpr std::int64_t dd_cost = 20;  ///< cost of a multiplication and an addition, in units of about one fma

  ATTOSCOPE_HOST_DEVICE DoubleDoubleBlock(const Job<double>& job, const RowBlock& block, const Observer& observer,
                                          LaneArena& arena)
      : job_(job), block_(block), observer_(observer), cursor_(observer.work_range(), arena) {
    q_ = arena.take<V>(static_cast<std::size_t>(job.d));
    s_ = arena.take<D>(static_cast<std::size_t>(job.n));
    m_ = arena.take<V>(1);
    l_ = arena.take<D>(1);
    o_ = arena.take<D>(1);
  }

  /// Writes the block's output rows, row-major, column by column. Returns the amount of work done (see PartialWork::end).
  ATTOSCOPE_HOST_DEVICE std::int64_t run(double* out) {
    cursor_.begin();
    load_rows();
    if (cursor_.due(1)) {
      *m_ = splat<V>(-std::numeric_limits<double>::infinity());
      *l_ = D{};
    }
    each_chunk(dd_cost * job_.d, [&](int first, int end) { scores(first, end); });
    each_chunk(dd_cost * 16, [&](int first, int end) { exponentials(first, end); });
    if (cursor_.due(dd_cost * 16)) add_sink();
    weighted_columns(out);
    return cursor_.end();
  }

 protected:
  ATTOSCOPE_HOST_DEVICE void load_rows() {
    for (int lane = 0; lane < W; ++lane) {
      const int row = block_.row_of(lane);
      for (int c = 0; cursor_.is_new() && c < job_.d; ++c)
        set_lane(q_[c], lane, *in_global(job_.q + static_cast<std::ptrdiff_t>(row) * job_.d + c));
      const Keys keys = job_.keys_of(row);
      set_lane(rows_, lane, row);
      set_lane(first_, lane, keys.first);
      set_lane(end_, lane, keys.end);
      begin_ = lane == 0 || keys.first < begin_ ? keys.first : begin_;
      stop_ = lane == 0 || keys.end > stop_ ? keys.end : stop_;
    }
  }

  ATTOSCOPE_HOST_DEVICE V visible(int j, V x, V hidden) const {
    const V key = splat<V>(j);
    x = key < first_ ? hidden : (key < end_ ? x : hidden);
    for (int lane = 0; job_.mask_tensor.terms != nullptr && lane < W; ++lane)
      if (job_.mask_tensor.drops(block_.row_of(lane), j)) set_lane(x, lane, lane_of(hidden, lane));
    return x;
  }

  /// Calls f(first, end) for the keys that the rows see: once for all, or chunk by chunk if the work is split into launches.
  /// `cost` is the cost of one key.
  template <class F>
  ATTOSCOPE_HOST_DEVICE void each_chunk(std::int64_t cost, F f) {
    const DueItems due = cursor_.due_of(chunks(), cost * chunk());
    for (int i = due.first; i < due.end; ++i) f(begin_ + i * chunk(), end_of(i));
  }
  ATTOSCOPE_HOST_DEVICE int chunk() const { return Cursor::is_partial || stop_ <= begin_ ? key_chunk : stop_ - begin_; }
  /// Number of chunks; at least one, so that the columns of a row without keys are written too.
  ATTOSCOPE_HOST_DEVICE int chunks() const { return stop_ <= begin_ ? 1 : (stop_ - begin_ - 1) / chunk() + 1; }
  ATTOSCOPE_HOST_DEVICE int end_of(int i) const {
    const int first = begin_ + i * chunk();
    return stop_ - first < chunk() ? stop_ : first + chunk();
  }

  /// Computes S and its max.
  ATTOSCOPE_HOST_DEVICE void scores(int first, int end) {
    V m = *m_;
    for (int j = first; j < end; ++j) {
      if (j % 64 == 0) observer_.check();
      D sum{};
      for (int c = 0; c < job_.d; ++c)
        sum = sum + two_product(splat<V>(job_.k[static_cast<std::ptrdiff_t>(j) * job_.d + c]), q_[c]);
      s_[j] = finite_low(biased(sum * D{splat<V>(job_.scale), V{}}, j), plain_score(j));
      if (job_.mask_tensor.terms != nullptr) s_[j] = with_terms(s_[j], j);
      const V seen = visible(j, s_[j].high, m);
      m = seen > m ? seen : m;
    }
    *m_ = m;
  }

  /// The score in plain double. Replaces the double-double score if that is infinite or NaN.
  ATTOSCOPE_HOST_DEVICE V plain_score(int j) const {
    V sum{};
    for (int c = 0; c < job_.d; ++c) sum = fused(splat<V>(job_.k[static_cast<std::ptrdiff_t>(j) * job_.d + c]), q_[c], sum);
    sum = sum * job_.scale;
    if (job_.softcap != 0) sum = soft_capped(sum, job_.softcap);
    return sum;
  }
  ATTOSCOPE_HOST_DEVICE static D finite_low(D x, V plain) {
    const V zero{};
    const auto finite = x.high - x.high == zero;
    return {finite ? x.high : plain, finite ? x.low : zero};
  }

  /// s after soft-capping and ALiBi.
  ATTOSCOPE_HOST_DEVICE D biased(D s, int key) const {
    if (job_.softcap != 0) {
      const D cap{splat<V>(job_.softcap), V{}}, one{splat<V>(1), V{}};
      const D y = s / cap;
      const V minus_two = y.high < 0.0 ? splat<V>(2) : splat<V>(-2);
      const D t = exponential(D{y.high * minus_two, y.low * minus_two});
      const D size = (one - t) / (one + t) * cap;
      s = {y.high < 0.0 ? -size.high : size.high, y.high < 0.0 ? -size.low : size.low};
    }
    if (job_.alibi == 0) return s;
    const V gap = rows_ - static_cast<double>(key - job_.diagonal), distance = gap < 0.0 ? -gap : gap;
    return s - two_product(distance, splat<V>(job_.alibi));
  }

  /// The score plus the mask tensor's term; the term alone if it is so large that a double keeps no bit of the score.
  ATTOSCOPE_HOST_DEVICE_NOINLINE D with_terms(D s, int key) const {
    V term{};
    for (int lane = 0; lane < W; ++lane) set_lane(term, lane, job_.mask_tensor.term(block_.row_of(lane), key));
    const D sum = s + D{term, V{}};
    const V zero{}, plain = s.high + term;
    const auto finite = sum.high - sum.high == zero;
    const V high = finite ? sum.high : plain, low = finite ? sum.low : zero;
    return {high, term == zero ? low : (high == term ? zero : low)};
  }

  /// Replaces S by e and sums e.
  ATTOSCOPE_HOST_DEVICE void exponentials(int first, int end) {
    const V m = *m_;
    D l = *l_;
    for (int j = first; j < end; ++j) {
      if (j % 256 == 0) observer_.check();
      const D shifted = s_[j] - D{m, V{}};
      D e = exponential(finite_low(shifted, s_[j].high - m));
      e = {visible(j, e.high, V{}), visible(j, e.low, V{})};
      s_[j] = e;
      l = l + e;
    }
    *l_ = l;
  }
  /// Lanes in which exp(sink - m), which may overflow, exceeds the sum of e by so much that l equals it.
  ATTOSCOPE_HOST_DEVICE auto sink_is_all() const { return splat<V>(job_.sink) - *m_ > 700.0; }
  ATTOSCOPE_HOST_DEVICE void add_sink() {
    if (!job_.has_sink) return;
    const D l = *l_, larger = l + exponential(D{splat<V>(job_.sink), V{}} - D{*m_, V{}});
    *l_ = {sink_is_all() ? l.high : larger.high, sink_is_all() ? l.low : larger.low};
  }
  /// The output of a column, from its weighted sum.
  ATTOSCOPE_HOST_DEVICE D normalised(D sum) const {
    const D l = *l_;
    const D o = finite_low(sum / l, sum.high / l.high);
    if (!job_.has_sink) return o;
    return {sink_is_all() ? sum.high * exponential(*m_ - job_.sink) : o.high, sink_is_all() ? V{} : o.low};
  }

  /// Computes the output column by column, each chunk by chunk.
  ATTOSCOPE_HOST_DEVICE void weighted_columns(double* out) {
    const int count = chunks();
    const DueItems due = cursor_.due_of(job_.d_v * count, dd_cost * chunk());
    for (int i = due.first; i < due.end; ++i) {
      const int column = i / count, piece = i % count;
      observer_.check();
      const D sum = weighted(column, begin_ + piece * chunk(), end_of(piece), piece == 0 ? D{} : *o_);
      *o_ = sum;
      if (piece == count - 1) store(column, normalised(sum), out);
    }
  }
  ATTOSCOPE_HOST_DEVICE D weighted(int column, int first, int end, D sum) const {
    for (int j = first; j < end; ++j) {
      const V v = splat<V>(job_.v[static_cast<std::ptrdiff_t>(j) * job_.d_v + column]);
      const D p = two_product(s_[j].high, v);
      const D term = quick_two_sum(p.high, fused(s_[j].low, v, p.low));
      const D next = finite_low(sum + term, sum.high + p.high);
      sum = {visible(j, next.high, sum.high), visible(j, next.low, sum.low)};
    }
    return sum;
  }
  ATTOSCOPE_HOST_DEVICE void store(int column, D o, double* out) const {
    const V value = o.high + o.low;
    for (int lane = 0; lane < block_.count; ++lane)
      *in_global(out + static_cast<std::ptrdiff_t>(lane) * job_.d_v + column) =
          lane_of(first_, lane) < lane_of(end_, lane) ? lane_of(value, lane) : job_.output_without_keys(false);
  }

  const Job<double>& job_;
  const RowBlock& block_;
  Observer observer_;
  Cursor cursor_;
  LaneArray<V> q_, m_;
  LaneArray<D> s_, l_, o_;
  V rows_{}, first_{}, end_{};
  int begin_ = 0, stop_ = 0;
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
