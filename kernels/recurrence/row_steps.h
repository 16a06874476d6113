/// Steps of the arithmetic for a single row, with the same bits as in the lanes.
#pragma once

#include "kernels/arithmetic/random.h"
#include "kernels/lanes/job.h"

namespace attoscope {

template <class T>
class RowSteps {
 public:
  RowSteps(const Job<T>& job, int row) : job_(job), row_(row) {}

  /// Rounds x as the lanes do, with the same random bits; i and k as in RoundingKey.
  T rounded(Step step, T x, int i, int k) const {
    const RounderPlan<T>& plan = job_[step];
    if (plan.kind == RounderKind::stochastic) return round_stochastic(plan.format, x, random_bits(job_.seed, step, row_, i, k));
    return plan.rounds() ? round(plan.format, x) : x;
  }

  /// e of the score S; `key` is the key's index in stored order.
  T weight(T S, T m, int key) const {
    const T x =
        rounded(Step::shifted, exp2() ? fused(S, job_.exp2.scale, -(m * job_.exp2.scale - job_.exp2.shift)) : S - m, key, 0);
    const int degree = job_.method.exp2_degree;
    const T raised = !exp2() ? exponential(x) : (degree == 0 ? exponential2(x) : exponential2_polynomial(x, degree));
    return rounded(Step::e, raised * job_.P.lift, key, 0);
  }

  /// exp of a difference of maxima, unrounded.
  T factor(T difference) const { return exp2() ? exponential2(difference * job_.exp2.scale) : exponential(difference); }

  /// l with the sink's term, which is added at the end; `merged`: m is a log-sum-exp of several runs.
  T with_sink(T l, T m, bool merged = false) const {
    if (!job_.has_sink) return l;
    const bool folded = exp2() && !merged;
    const T exponent = folded ? fused(job_.sink, log2_e<T>, -(m * job_.exp2.scale - job_.exp2.shift)) : job_.sink - m;
    const T x = rounded(Step::shifted, exponent, 0, -1);
    const T lone = merged ? exponential(x) : (exp2() ? exponential2(x) : exponential(x)) * job_.P.lift;
    return rounded(Step::l, l + rounded(Step::e, lone, 0, -1), 0, -1);
  }

  /// The row sum by which O is divided at the end, rounded by the same steps as in the lanes.
  T divisor(T l, T m, bool merged = false) const { return with_sink(l, m, merged); }

  /// The log-sum-exp of a run of split_kv as stored; `is_last`: the run is the last one.
  T log_sum_exp(T m, T l, bool is_last) const {
    const StoredBase base = job_.method.lse_base;
    const bool in_base_2 = base == StoredBase::last_two_as_e ? is_last : base != StoredBase::e;
    const T lse = m * job_.exp2.score_unit + (logarithm(l) - job_.P.log_lift);
    return in_base_2 ? lse * log2_e<T> : lse;
  }
  /// exp of a difference of log-sum-exps, in the base in which the merge reads them.
  T merge_weight(T difference) const {
    return job_.method.lse_base == StoredBase::two ? exponential2(difference) : exponential(difference);
  }

 private:
  bool exp2() const { return job_.method.exponential == ExponentialKind::exp2; }

  const Job<T>& job_;
  int row_;
};

}  // namespace attoscope
