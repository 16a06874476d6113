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

  DoubleDoubleBlock(const Job<double>& job, const RowBlock& block, Arena& arena) : job_(job), block_(block) {
    q_ = arena.take<V>(static_cast<std::size_t>(job.d));
    s_ = arena.take<D>(static_cast<std::size_t>(job.n));
  }

  void run(const StopSign& stop, double* out) {
    load_rows();
    stop.check();
    scores(stop);
    const D l = exponentials(stop);
    for (int c = 0; c < job_.d; ++c) {
      stop.check();
      const V o = weighted_column(c, l);
      for (int lane = 0; lane < block_.count; ++lane)
        out[static_cast<std::ptrdiff_t>(lane) * job_.d + c] = first_[lane] < end_[lane] ? o[lane] : 0;
    }
  }

 private:
  void load_rows() {
    for (int lane = 0; lane < W; ++lane) {
      const int row = block_.rows[lane < block_.count ? lane : block_.count - 1];
      for (int c = 0; c < job_.d; ++c) q_[c][lane] = job_.q[static_cast<std::ptrdiff_t>(row) * job_.d + c];
      const Keys keys = job_.keys_of(row);
      rows_[lane] = row;
      first_[lane] = keys.first;
      end_[lane] = keys.end;
      begin_ = lane == 0 || keys.first < begin_ ? keys.first : begin_;
      stop_ = lane == 0 || keys.end > stop_ ? keys.end : stop_;
    }
  }

  V visible(int j, V x, V hidden) const {
    const V key = splat<V>(j);
    return key < first_ ? hidden : (key < end_ ? x : hidden);
  }

  void scores(const StopSign& stop) {
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
  V plain_score(int j) const {
    V sum{};
    for (int c = 0; c < job_.d; ++c) sum = fused(splat<V>(job_.k[static_cast<std::ptrdiff_t>(j) * job_.d + c]), q_[c], sum);
    sum = sum * job_.scale;
    if (job_.softcap != 0) sum = soft_capped(sum, job_.softcap);
    return sum;
  }
  static D finite_low(D x, V plain) {
    const V zero{};
    const auto finite = x.high - x.high == zero;
    return {finite ? x.high : plain, finite ? x.low : zero};
  }

  /// Soft-capping and ALiBi.
  D biased(D s, int key) const {
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
  D exponentials(const StopSign& stop) {
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

  V weighted_column(int c, D l) const {
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
  V *q_, rows_{}, first_{}, end_{}, m_{};
  D* s_;
  int begin_ = 0, stop_ = 0;
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
