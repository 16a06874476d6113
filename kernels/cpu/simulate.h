/// Emulated kernels on the CPU: blocks of query rows over all threads, in the lanes of the best instruction set.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "kernels/arithmetic/exponential.h"
#include "kernels/experiment/input.h"
#include "kernels/experiment/matrix.h"
#include "kernels/lanes/job.h"

namespace attoscope {

class AllHeads;
struct MaskTensor;
struct Problem;
struct Tensors;

/// Factors and offsets that follow the products of stored tensors (see scaled_operands.h); empty: none.
template <class T>
struct OperandScales {
  std::vector<T> q, k;         ///< S is q.k times q[row] * k[key]; if `is_one`, they hold one number each
  bool is_one = false;         ///< true: their product is a part of the scores' factor
  std::vector<T> bias;         ///< added to that: [row / bias_rows * n + key]
  int bias_rows = 1;           ///< rows of Q that share a bias
  std::vector<T> o, o_offset;  ///< O of each column is multiplied by the one, then the other is added
};

/// Q, K, V in the working type, with the ranges that ShortRounder needs.
template <class T>
struct Operands {
  std::vector<T> q, k, v;
  OperandRanges ranges{};
  Format format = fp32;  ///< of the numbers, before any scaling
  OperandScales<T> scales{};
  std::shared_ptr<const AllHeads> all_heads{};  ///< rounded as these numbers are; null: there is no other head
  std::shared_ptr<const MaskTensor> mask{};     ///< of Tensors
};

/// Range of numbers of that many mantissa bits, for ShortRounder.
template <class T>
Magnitudes range_of(std::span<const T> x, int mantissa_bits, const StopSign& stop = {});

/// Row-major x, d columns, rounded; `tensor` 0, 1, 2, 4 tells Q, K, V, dO apart for stochastic rounding.
template <class T>
std::vector<T> rounded(const std::vector<double>& x, int d, const RounderPlan<T>& p, std::uint64_t seed, int tensor,
                       const StopSign& stop);

/// `t` rounded by `r` (D = main) in working type T; `seed` is that of stochastic rounding.
template <class T>
Operands<T> operands(const Tensors& t, const Rounding& r, const Format& main, std::uint64_t seed, const StopSign& stop = {});

/// The same with K and V from the last key to the first.
template <class T>
Operands<T> with_reversed_keys(const Operands<T>& x, const AttentionShape& shape);

/// `x` as doubles.
template <class T>
std::shared_ptr<const Tensors> as_tensors(const Operands<T>& x, const AttentionShape& shape, const StopSign& stop = {});

/// `method` on `problem`, ready to run; points into `x`, whose keys are reversed already if the method wants that.
template <class T>
Job<T> job(const Problem& problem, const Method& method, const Format& main, const Operands<T>& x);

/// The max and the sum that a method ends with, [row], m in the job's units of S. split_kv: m + ln l is the log-sum-exp of the
/// scores (l is 1 in rows with keys in one run only). Anything in rows without keys.
template <class T>
struct RowStates {
  std::vector<T> m, l;
};

/// Output rows of the job, in the order of `rows`. `recorder` and `states` may be null. Throws what `stop` throws.
template <class T>
Matrix run(const Job<T>& job, const std::vector<int>& rows, Recorder<std::type_identity_t<T>>* recorder, const StopSign& stop,
           RowStates<std::type_identity_t<T>>* states = nullptr);
/// The same for three-pass softmax in double-double, rounded to double.
Matrix run_double_double(const Job<double>& job, const std::vector<int>& rows, const StopSign& stop);

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
