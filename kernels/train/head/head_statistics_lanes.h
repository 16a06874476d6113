/// Losses by rounding in a head, counted by repeating the steps of its forward and backward pass.
#pragma once

#include "kernels/train/head/head_lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// `count` is called once for every block of query rows; the lanes of a group need not wait for each other.
template <class T>
class HeadStatisticsBlock : private HeadGradientBlock<T> {
  using Base = HeadGradientBlock<T>;
  using Base::job_, Base::rule_, Base::p_, Base::ds_, Base::m_, Base::l_, Base::rows_, Base::delta_, Base::lane_, Base::first_,
      Base::count_, Base::keys_, Base::vec, Base::fill;
  using Base::N, Base::own;
  using typename Base::Array, typename Base::V;

 public:
  HeadStatisticsBlock(const HeadRule<T>& rule, const HeadMatrices<T>& head, int lane, const LaneGroup& group, LaneArena& arena)
      : Base(rule, head, lane, group, arena),
        kept_(arena.template take<T>(static_cast<std::size_t>(rule.job.n) * static_cast<std::size_t>(own))) {}

  using Base::blocks;

  /// Adds the counts of the lane's rows, except for the errors of delta; writes delta of each of these rows.
  void count(int block, HeadStatistics& statistics, T* delta) {
    this->enter(block);
    this->load_rows();
    count_scores(statistics);
    count_weights(statistics);
    this->scores();
    this->weigh();
    count_differences(statistics);
    for (int x = 0; x < own; ++x)
      if (has_row(x)) delta[static_cast<int>(rows_[x])] = delta_[x];
  }

 private:
  bool has_row(int x) const { return place_of(x, lane_) < count_; }
  /// f(x, i) for every row x of the lane and every key that it sees; i is the index in the arrays.
  template <class F>
  void each_pair(F f) const {
    for (int x = 0; x < own; ++x)
      for (int j = 0; has_row(x) && j <= static_cast<int>(rows_[x]); ++j) f(x, j * own + x);
  }
  template <class F>
  void keep(F f) {
    for (int i = 0; i < keys_ * N; ++i) vec(kept_)[i] = f(i, i % N);
  }
  /// True if `raw`, which became `rounded`, was too large for the plan's format.
  static bool overflows(const RounderPlan<T>& plan, T raw, T rounded) {
    const T size = raw < 0 ? -raw : raw, left = rounded < 0 ? -rounded : rounded;
    return rounded - rounded != 0 || (plan.rounds() && size > plan.largest && !(left < plan.beyond));
  }

  void count_scores(HeadStatistics& statistics) {
    this->products();
    keep([p = vec(p_), scale = splat<V>(job_.scale)](int i, int) { return scale * p[i]; });
    fill(p_, Step::S, [s = vec(kept_)](int i, int) { return s[i]; });
    each_pair([&](int, int i) { statistics.saturated += overflows(job_[Step::S], kept_[i], p_[i]); });
    for (int x = 0; x < own; ++x) {
      if (!has_row(x)) continue;
      T most = -std::numeric_limits<T>::infinity();
      int holders = 0;
      for (int j = 0; j <= static_cast<int>(rows_[x]); ++j) {
        const T S = p_[j * own + x];
        holders = S > most ? 1 : holders + (S == most);
        most = S > most ? S : most;
      }
      ++statistics.rows;
      statistics.tied_rows += holders > 1;
      statistics.weights += static_cast<int>(rows_[x]) + 1;
    }
  }

  /// P with the final m of the row.
  void count_weights(HeadStatistics& statistics) {
    if (job_.method.algorithm == Algorithm::split_kv)  // m is a log-sum-exp
      for (int r = 0; r < N; ++r) vec(m_)[r] = vec(m_)[r] / job_.exp2.score_unit;
    keep([p = vec(p_), m = vec(m_), unit = job_.exp2.score_unit](int i, int r) { return exponential((p[i] - m[r]) * unit); });
    this->exponents();
    this->raise();
    for (int i = 0; i < keys_ * N; ++i) vec(ds_)[i] = rule_.normalises ? vec(p_)[i] / vec(l_)[i % N] : vec(p_)[i];
    fill(p_, Step::P, [raw = vec(ds_)](int i, int) { return raw[i]; });
    each_pair([&](int, int i) {
      statistics.saturated += overflows(job_[Step::P], ds_[i], p_[i]);
      statistics.underflowed += kept_[i] > 0 && p_[i] == 0;
    });
  }

  void count_differences(HeadStatistics& statistics) {
    keep([p = vec(p_), dP = vec(ds_), delta = vec(delta_)](int i, int r) { return p[i] * (dP[i] - delta[r]); });
    this->differences();
    each_pair([&](int, int i) {
      statistics.lost_dS += kept_[i] != 0 && ds_[i] == 0;
      statistics.overflowed_dS += overflows(rule_[GradStep::dS], kept_[i], ds_[i]);
    });
  }

  Array kept_;  // [key][row]: a step's result before rounding
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
