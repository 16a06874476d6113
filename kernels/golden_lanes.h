/// The truth for experiments that work in double themselves: three-pass safe softmax in double-double, a row in each lane.
#pragma once

#include "kernels/double_double.h"
#include "kernels/job.h"
#include "kernels/lanes.h"
#include "kernels/scratch.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

class DoubleDoubleBlock {
  using V = DoubleV;
  using D = DD<V>;
  static constexpr int W = Lanes<double>::width;

 public:
  static constexpr int rows = W;

  ATTOSCOPE_ANYWHERE DoubleDoubleBlock(const Job<double>& job, const RowBlock& block, LaneArena& arena) : job_(job), block_(block) {
    q_ = arena.take<V>(static_cast<std::size_t>(job.d));
    s_ = arena.take<D>(static_cast<std::size_t>(job.n));
  }

  /// Stop has check().
  template <class Stop>
  ATTOSCOPE_ANYWHERE void run(const Stop& stop, double* out) {
    load_rows();
    stop.check();
    scores(stop);
    const D l = exponentials(stop);
    for (int c = 0; c < job_.d; ++c) {
      stop.check();
      const V o = weighted_column(c, l);
      for (int lane = 0; lane < block_.count; ++lane)
        out[static_cast<std::ptrdiff_t>(lane) * job_.d + c] = lane_of(first_, lane) < lane_of(end_, lane) ? lane_of(o, lane) : 0;
    }
  }

 private:
  ATTOSCOPE_ANYWHERE void load_rows() {
    for (int lane = 0; lane < W; ++lane) {
      const int row = block_.row_of(lane);
      for (int c = 0; c < job_.d; ++c) set_lane(q_[c], lane, job_.q[static_cast<std::ptrdiff_t>(row) * job_.d + c]);
      const Keys keys = job_.keys_of(row);
      set_lane(rows_, lane, row);
      set_lane(first_, lane, keys.first);
      set_lane(end_, lane, keys.end);
      begin_ = lane == 0 || keys.first < begin_ ? keys.first : begin_;
      stop_ = lane == 0 || keys.end > stop_ ? keys.end : stop_;
    }
  }

  ATTOSCOPE_ANYWHERE V visible(int j, V x, V hidden) const {
    const V key = splat<V>(j);
    return key < first_ ? hidden : (key < end_ ? x : hidden);
  }

  template <class Stop>
  ATTOSCOPE_ANYWHERE void scores(const Stop& stop) {
    m_ = splat<V>(-std::numeric_limits<double>::infinity());
    for (int j = begin_; j < stop_; ++j) {
      if (j % 64 == 0) stop.check();
      D sum{};
      for (int c = 0; c < job_.d; ++c)
        sum = sum + two_product(splat<V>(job_.k[static_cast<std::ptrdiff_t>(j) * job_.d + c]), q_[c]);
      s_[j] = finite_low(biased(sum * D{splat<V>(job_.scale), V{}}, j), plain_score(j));
      const V seen = visible(j, s_[j].high, m_);
      m_ = seen > m_ ? seen : m_;
    }
  }

  /// The score in plain double: where it is infinite or NaN, it is what the double-double is replaced with.
  ATTOSCOPE_ANYWHERE V plain_score(int j) const {
    V sum{};
    for (int c = 0; c < job_.d; ++c) sum = fused(splat<V>(job_.k[static_cast<std::ptrdiff_t>(j) * job_.d + c]), q_[c], sum);
    sum = sum * job_.scale;
    if (job_.softcap != 0) sum = soft_capped(sum, job_.softcap);
    return sum;
  }
  ATTOSCOPE_ANYWHERE static D finite_low(D x, V plain) {
    const V zero{};
    const auto finite = x.high - x.high == zero;
    return {finite ? x.high : plain, finite ? x.low : zero};
  }

  /// Soft-capping and ALiBi.
  ATTOSCOPE_ANYWHERE D biased(D s, int key) const {
    if (job_.softcap != 0) {
      const D cap{splat<V>(job_.softcap), V{}}, one{splat<V>(1), V{}};
      const D y = s / cap;
      const V minus_two = y.high < 0.0 ? splat<V>(2) : splat<V>(-2);
      const D t = exponential(D{y.high * minus_two, y.low * minus_two});
      const D size = (one - t) / (one + t) * cap;
      s = {y.high < 0.0 ? -size.high : size.high, y.high < 0.0 ? -size.low : size.low};
    }
    if (job_.alibi == 0) return s;
    const V gap = rows_ - static_cast<double>(key), distance = gap < 0.0 ? -gap : gap;
    return s - two_product(distance, splat<V>(job_.alibi));
  }

  /// e in place of S; their sum.
  template <class Stop>
  ATTOSCOPE_ANYWHERE D exponentials(const Stop& stop) {
    D l{};
    for (int j = begin_; j < stop_; ++j) {
      if (j % 256 == 0) stop.check();
      const D shifted = s_[j] - D{m_, V{}};
      D e = exponential(finite_low(shifted, s_[j].high - m_));
      e = {visible(j, e.high, V{}), visible(j, e.low, V{})};
      s_[j] = e;
      l = l + e;
    }
    if (job_.has_sink) l = l + exponential(D{splat<V>(job_.sink), V{}} - D{m_, V{}});
    return l;
  }

  ATTOSCOPE_ANYWHERE V weighted_column(int c, D l) const {
    D sum{};
    for (int j = begin_; j < stop_; ++j) {
      const V v = splat<V>(job_.v[static_cast<std::ptrdiff_t>(j) * job_.d + c]);
      const D p = two_product(s_[j].high, v);
      const D term = quick_two_sum(p.high, fused(s_[j].low, v, p.low));
      const D next = sum + term;
      sum = {visible(j, next.high, sum.high), visible(j, next.low, sum.low)};
    }
    const D o = sum / l;
    return o.high + o.low;
  }

  const Job<double>& job_;
  const RowBlock& block_;
  LaneArray<V> q_;
  LaneArray<D> s_;
  V rows_{}, first_{}, end_{}, m_{};
  int begin_ = 0, stop_ = 0;
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
