/// Losses by rounding in a head, counted by repeating the steps of its forward and backward pass.
#pragma once

#include "kernels/backward/row_pairs.h"
#include "kernels/train/head/head.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Counts the losses in one block of query rows.
class HeadStatisticsRows : private RowPairs<float, CpuObserver<float>> {
  using Base = RowPairs<float, CpuObserver<float>>;

 public:
  HeadStatisticsRows(const GradientRule<float>& rule, const RowsTask<float>& task, const StopSign& stop, Arena& arena)
      : Base(rule, task, LaneGroup{task.block.count}, CpuObserver<float>{nullptr, stop}, arena) {
    for (Array* chunk : {&raw_, &kept_}) *chunk = arena.take<float>(static_cast<std::size_t>(key_chunk) * R);
    for (Array* row : {&most_, &holders_}) *row = arena.take<float>(R);
  }

  /// Adds the counts of the rows, except for the errors of delta; writes delta and L of each row.
  void count(HeadStatistics& statistics) {
    load();
    find_delta();
    store_statistics();
    if (rule_.is_merged)  // m is a log-sum-exp
      for (int r = 0; r < vectors; ++r) vec(state_.m)[r] = vec(state_.m)[r] / job_.exp2.score_unit;
    std::fill_n(most_, R, -infinity);
    std::fill_n(holders_, R, 0.0F);
    each_chunk(task_.keys, [&](int i, int first, int end) {
      count_scores(first, end, statistics);
      count_weights(statistics);
      find_weights(first, end, p_, ds_);
      count_differences(i, first, end, statistics);
    });
    for (int lane = 0; lane < block_.count; ++lane) {
      ++statistics.rows;
      statistics.tied_rows += holders_[lane] > 1;
      statistics.weights += static_cast<int>(end_[lane] - first_[lane]);
    }
  }

 private:
  /// Calls f(lane, i) for every row and every key that the row sees, from key `number` on; i indexes the chunk's arrays.
  template <class F>
  void each_seen(const float* first, const float* end, int number, F f) const {
    for (int lane = 0; lane < block_.count; ++lane) {
      const int to = clamp(static_cast<int>(end[lane]) - number, 0, keys());
      for (int j = clamp(static_cast<int>(first[lane]) - number, 0, to); j < to; ++j) f(lane, j * R + lane);
    }
  }
  template <class F>
  void each_stored(F f) const {
    each_seen(rows_.first, rows_.end, tile_.j0, f);
  }
  /// True if `raw` was too large for the plan's format; `rounded` is its rounded value.
  static bool overflows(const RounderPlan<float>& plan, float raw, float rounded) {
    const float size = raw < 0 ? -raw : raw, left = rounded < 0 ? -rounded : rounded;
    return rounded - rounded != 0 || (plan.rounds() && size > plan.largest && !(left < plan.beyond));
  }

  /// Computes S in scratch_.S and counts its losses.
  void count_scores(int first, int end, HeadStatistics& statistics) {
    enter_keys(first, end);
    products();
    const float scale = job_.scale;
    each_pair(keys(), [s = vec(scratch_.S), raw = vec(raw_), scale](int i, int) { raw[i] = s[i] = scale * s[i]; });
    round_keys(Step::S);
    each_stored([&](int lane, int i) {
      const float S = scratch_.S[i];
      statistics.saturated += overflows(job_[Step::S], raw_[i], S);
      holders_[lane] = S > most_[lane] ? 1 : holders_[lane] + (S == most_[lane] ? 1.0F : 0.0F);
      most_[lane] = S > most_[lane] ? S : most_[lane];
    });
  }

  /// Turns S into P with the final m of the row and counts its losses.
  void count_weights(HeadStatistics& statistics) {
    const auto s = vec(scratch_.S), raw = vec(raw_), kept = vec(kept_), m = vec(state_.m), l = vec(state_.l);
    each_pair(keys(), [&](int i, int r) { kept[i] = exponential((s[i] - m[r]) * job_.exp2.score_unit); });
    exponentials(state_.m);
    each_pair(keys(), [&](int i, int r) { raw[i] = s[i] = rule_.normalises ? s[i] / l[r] : s[i]; });
    round_keys(Step::P);
    each_stored([&](int, int i) {
      statistics.saturated += overflows(job_[Step::P], raw_[i], scratch_.S[i]);
      statistics.underflowed += kept_[i] > 0 && scratch_.S[i] == 0;
    });
  }

  /// Turns dP into dS and counts its losses.
  void count_differences(int at_list, int first, int end, HeadStatistics& statistics) {
    each_pair(end - first, [p = vec(p_), dP = vec(ds_), delta = vec(delta_), kept = vec(kept_)](int i, int r) {
      kept[i] = p[i] * (dP[i] - delta[r]);
    });
    differ(at_list, first, end, p_, ds_);
    each_seen(first_, end_, first, [&](int, int i) {
      statistics.lost_dS += kept_[i] != 0 && ds_[i] == 0;
      statistics.overflowed_dS += overflows(rule_[GradStep::dS], kept_[i], ds_[i]);
    });
  }

  Array raw_, kept_;      // [key][row]: a step's result before rounding
  Array most_, holders_;  // [row]: the largest S so far, and the number of keys that have it
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
