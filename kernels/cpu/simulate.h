/// Emulated kernels on the CPU: blocks of query rows on all threads, in the lanes of the best instruction set.
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

struct Problem;

/// Factors and offsets to apply after the products of stored tensors (see scaled_operands.h); empty if there are none.
template <class T>
struct OperandScales {
  std::vector<T> q, k;         ///< S is q.k times q[row] * k[key]; one number each if `is_one`
  bool is_one = false;         ///< true: their product is part of the scores' factor
  std::vector<T> bias;         ///< then added: [row / bias_rows * n + key]
  int bias_rows = 1;           ///< number of Q's rows that share a bias
  std::vector<T> o, o_offset;  ///< per column: O * o + o_offset
};

/// Q, K, V in the working type, with the ranges that ShortRounder needs.
template <class T>
struct Operands {
  std::vector<T> q, k, v;
  OperandRanges ranges{};
  Format format = fp32;  ///< format of the numbers, before any scaling
  OperandScales<T> scales{};
  std::shared_ptr<const AllHeads> all_heads{};  ///< rounded like these numbers; null: there are no other heads
  std::shared_ptr<const MaskTensor> mask{};     ///< Tensors::mask
};

/// Range of numbers with `mantissa_bits` mantissa bits, for ShortRounder.
template <class T>
Magnitudes range_of(std::span<const T> x, int mantissa_bits, const StopSign& stop = {});

/// Row-major x, d columns, rounded; `tensor` 0, 1, 2, 4 distinguishes Q, K, V, dO in stochastic rounding.
template <class T>
std::vector<T> rounded(const std::vector<double>& x, int d, const RounderPlan<T>& p, std::uint64_t seed, int tensor,
                       const StopSign& stop);

/// `t` rounded by `r` (main format `main`) in working type T; `seed` is used by stochastic rounding.
template <class T>
Operands<T> operands(const Tensors& t, const Rounding& r, const Format& main, std::uint64_t seed, const StopSign& stop = {});

/// x with the order of keys reversed in K and V.
template <class T>
Operands<T> with_reversed_keys(const Operands<T>& x, const AttentionShape& shape);

/// `x` as doubles.
template <class T>
std::shared_ptr<const Tensors> as_tensors(const Operands<T>& x, const AttentionShape& shape, const StopSign& stop = {});

/// The job of `method` on `problem`; points into `x`, whose keys must already be reversed if the method requires it.
template <class T>
Job<T> job(const Problem& problem, const Method& method, const Format& main, const Operands<T>& x);
/// Exact attention on `x`, which must outlive the job.
Job<double> golden_job(const Problem& problem, const Tensors& x);

/// Final max and sum of a method, [row], m in the job's units of S. split_kv: m + ln l is the log-sum-exp of the scores (l is 1
/// in rows with keys in one run only). Unspecified in rows without keys.
template <class T>
struct RowStates {
  std::vector<T> m, l;
};

/// Computes output rows of the job, in the order of `rows`. `recorder` and `states` may be null. Throws what `stop` throws.
template <class T>
Matrix run(const Job<T>& job, const std::vector<int>& rows, Recorder<std::type_identity_t<T>>* recorder, const StopSign& stop,
           RowStates<std::type_identity_t<T>>* states = nullptr);
/// Runs three-pass softmax in double-double, rounded to double.
Matrix run_double_double(const Job<double>& job, const std::vector<int>& rows, const StopSign& stop);

/// Log-sum-exp of each of `rows`: fma(m, unit, ln l - p_exponent ln 2), for split_kv m + ln l; l includes the sink; -infinity
/// without keys. `base_2`: times log2 e, multiplied in the working type.
template <class T>
std::vector<double> log_sum_exps(const Job<T>& job, const std::vector<int>& rows, const RowStates<T>& states,
                                 bool base_2 = false) {
  std::vector<double> all;
  for (const int row : rows) {
    const T m = states.m[static_cast<std::size_t>(row)], log_l = logarithm(states.l[static_cast<std::size_t>(row)]);
    const bool merged = job.method.algorithm == Algorithm::split_kv;
    const T x = merged ? m + log_l : fused(m, job.exp2.score_unit, log_l - job.P.log_lift);
    all.push_back(job.keys_of(row).empty() ? -std::numeric_limits<double>::infinity()
                                           : static_cast<double>(base_2 ? x * log2_e<T> : x));
  }
  return all;
}

}  // namespace attoscope
