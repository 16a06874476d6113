/// The log-sum-exp that a run leaves in each row, as kernels store it.
#pragma once

#include <limits>
#include <vector>

#include "kernels/arithmetic/exponential.h"
#include "kernels/cpu/simulate.h"

namespace attoscope {

/// One number for each of `rows`: fma(m, unit, ln l - p_exponent ln 2), of split_kv m + ln l, l with the sink's share;
/// -infinity without keys. `base_2`: the same times log2 e, multiplied in the working type.
template <class T>
std::vector<double> log_sum_exps(const Job<T>& job, const std::vector<int>& rows, const RowStates<T>& states,
                                 bool base_2 = false) {
  const T log2_e = static_cast<T>(0x1.71547652b82fep+0);
  std::vector<double> all;
  for (const int row : rows) {
    const T m = states.m[static_cast<std::size_t>(row)], log_l = logarithm(states.l[static_cast<std::size_t>(row)]);
    const bool merged = job.method.algorithm == Algorithm::split_kv;
    const T x = merged ? m + log_l : fused(m, job.exp2.score_unit, log_l - job.P.log_lift);
    all.push_back(job.keys_of(row).empty() ? -std::numeric_limits<double>::infinity()
                                           : static_cast<double>(base_2 ? x * log2_e : x));
  }
  return all;
}

}  // namespace attoscope
