/// Attention of many heads, forward and backward: the interface of the backends, and the statistics of the heads. Queries, keys
/// and values of a head are columns of row-major matrices; causal, scale 1/sqrt(d).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/backward/gradient_rule.h"
#include "kernels/lanes/job.h"
#include "kernels/train/plan/plan.h"

namespace attoscope {

/// Rule for computing one head, made once for a model: kernels/backward/README.md's rule, whose arrays each pass sets, with
///   L_i   = round(m_i * unit) + (ln l_i - p_exponent * ln 2), for split_kv m_i + ln l_i
///   P_ij  by `natural`, or normalised with the roundings of three_pass and two_pass
///   S_ij  as in the forward pass, but added by fma
///   dQ_i  from one key tile of all keys
/// causal, without sink, soft cap, ALiBi and scales. For the effect of a biased error of O on delta see arXiv 2510.04212.
template <class T>
using HeadRule = GradientRule<T>;

/// The rule of a head of `shape` under `method`; without rounding beyond the input if `exact`.
template <class T>
HeadRule<T> head_rule(const ModelShape& shape, const TrainMethod& method, bool exact);

/// Attention of a layer for every sequence and head. Row r of a matrix is token r % context of sequence r / context, at
/// r * row_stride; head h has columns h * d .. h * d + d - 1.
template <class T>
struct HeadBatch {
  const HeadRule<T>* rules = nullptr;  ///< [head]; in host memory, must outlive the call
  int sequences = 0, heads = 0, context = 0, d = 0;
  std::int64_t row_stride = 0;  ///< of all matrices
  const T *q = nullptr, *k = nullptr, *v = nullptr;
  T* o = nullptr;                   ///< the result of the method's `output` step
  T *m = nullptr, *l = nullptr;     ///< [(sequence * heads + head) * context + token]: as left by the forward pass, m in the
                                    ///< units of the job's S; split_kv: m + ln l is the log-sum-exp of the scores (l is 1 in
                                    ///< rows with keys in one run only)
  std::uint64_t rounding_seed = 0;  ///< for stochastic rounding; another for each step and layer
};

/// The seed of stochastic rounding in a head of a sequence; `place` is sequence * heads + head.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr std::uint64_t head_seed(std::uint64_t rounding_seed, int place) {
  return rounding_seed + (static_cast<std::uint64_t>(place) + 1) * 0x9E3779B97F4A7C15u;
}
/// Offset of the first element of a head of a sequence in the matrices; `place` is sequence * heads + head.
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE std::int64_t offset_of(const HeadBatch<T>& batch, int place) {
  return static_cast<std::int64_t>(place / batch.heads) * batch.context * batch.row_stride + (place % batch.heads) * batch.d;
}

/// Contiguous numbers of one head, which its backward pass reads instead of the model's matrices.
template <class T>
struct HeadArrays {
  const T *queries = nullptr, *keys = nullptr;                       ///< as read by the forward pass, n x d
  const T *q = nullptr, *k = nullptr, *v = nullptr, *d_o = nullptr;  ///< `width` numbers a row
  int width = 0;
  const double* o = nullptr;          ///< n x d
  const T* column_numbers = nullptr;  ///< see GradientRule
};

/// Turns `rule`, a copy of the batch's, into the rule of the backward pass of head `place` (sequence * heads + head).
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE void take_head(GradientRule<T>& rule, const HeadBatch<T>& batch, int place,
                                            const HeadArrays<T>& x) {
  Job<T>& job = rule.job;
  job.method.algorithm = Algorithm::flash2;  // the memory for scores is one tile of flash2
  job.method.block_k = job.n < 64 ? job.n : 64;
  job.qk_sum = {};
  job.seed = head_seed(batch.rounding_seed, place);
  job.q = x.queries;
  job.k = x.keys;
  rule.width = rule.width_v = x.width;
  rule.q = x.q;
  rule.k = x.k;
  rule.v = x.v;
  rule.d_o = rule.given_d_o = x.d_o;
  rule.o = x.o;
  rule.m = batch.m + std::int64_t{place} * batch.context;
  rule.l = batch.l + std::int64_t{place} * batch.context;
  rule.column_numbers = x.column_numbers;
}

/// The backward pass of a HeadBatch: dO in, dQ, dK, dV out (laid out as q, k, v).
template <class T>
struct HeadGradient {
  HeadBatch<T> forward;
  const T* d_o = nullptr;
  T *d_q = nullptr, *d_k = nullptr, *d_v = nullptr;
};

/// Counts of one head over all sequences of a batch.
struct HeadStatistics {
  std::int64_t rows = 0;
  std::int64_t tied_rows = 0;      ///< rows whose largest score belongs to several keys
  std::int64_t weights = 0;        ///< (row, visible key) pairs
  std::int64_t saturated = 0;      ///< scores and P beyond the largest number of their format, infinite, or NaN
  std::int64_t underflowed = 0;    ///< exp(S - m) > 0 whose P is 0
  std::int64_t lost_dS = 0;        ///< P*(dP - delta) != 0, but dS is 0
  std::int64_t overflowed_dS = 0;  ///< dS that is infinite, NaN or saturated
  double delta_error = 0;          ///< sum over rows of delta - rowsum(dO*O) with the exact O of the same Q, K, V
  double delta_size = 0;           ///< sum over rows of |rowsum(dO*O)| with the exact O
};

template <class Of, class T>
using NamedNumber = std::pair<std::string_view, T Of::*>;
/// Counts of a head by name.
inline constexpr std::array<NamedNumber<HeadStatistics, std::int64_t>, 7> head_counts{
    {{"rows", &HeadStatistics::rows},
     {"tied_rows", &HeadStatistics::tied_rows},
     {"weights", &HeadStatistics::weights},
     {"saturated", &HeadStatistics::saturated},
     {"underflowed", &HeadStatistics::underflowed},
     {"lost_dS", &HeadStatistics::lost_dS},
     {"overflowed_dS", &HeadStatistics::overflowed_dS}}};

/// The statistics of every head of a layer, computed on the CPU, on the threads of the caller's arena. `backward` is the input
/// of the backward pass, in host memory; its outputs are not read.
std::vector<HeadStatistics> head_statistics(const HeadGradient<float>& backward);

/// The lane code of an instruction set that training's heads use.
struct HeadCode {
  void (*rounded)(const float* x, std::int64_t count, const RounderPlan<float>&, float* y) = nullptr;
  /// Adds a block of query rows to a head's statistics; writes delta and L of each row. statistics_scratch: bytes of scratch.
  void (*count_rows)(const GradientRule<float>&, const RowsTask<float>&, void* scratch, HeadStatistics&) = nullptr;
  std::size_t (*statistics_scratch)(const GradientRule<float>&) = nullptr;
};
/// The code of the instruction set called `name` (see `train_code`, defined in the same file).
HeadCode head_code(std::string_view name);

/// Computes O, m and l of every head. Heads are shared among the threads of the caller's arena; `isa` as for `instruction_set`.
template <class T>
void run_heads(const HeadBatch<T>& heads, std::string_view isa = {});
/// Computes dQ, dK and dV of every head; o, m and l as left by run_heads.
template <class T>
void run_head_gradients(const HeadGradient<T>& heads, std::string_view isa = {});

}  // namespace attoscope
