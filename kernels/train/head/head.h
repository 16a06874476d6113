/// Attention of many heads, forward and backward: the interface of the backends, and the statistics of the heads. Queries, keys
/// and values of a head are columns of row-major matrices; causal, scale 1/sqrt(d).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backward/gradient_rule.h"
#include "kernels/lanes/job.h"
#include "kernels/train/plan/plan.h"

namespace attoscope {

/// Rule of computing one head, made once for a model.
///
/// The written rule of the backward pass (FlashAttention-2, arXiv 2307.08691, Algorithm 2); round_x is the grad step's
/// rounding, Q, K, V are rounded by the method's `input` step as in the forward pass, i is a query row, j a key, c a column of
/// the head:
///   S_ij      as the forward pass computes it: qk_step, then S
///   P_ij      = round_probability(exp(fma(S_ij, score_unit, -L_i))), L_i = m_i * score_unit + (ln l_i - p_exponent * ln 2) in
///               T, of split_kv L_i = m_i + ln l_i; where `normalises`: round_probability(round_P(e_ij / l_i)), e_ij and
///               round_P as the forward pass has them (shifted, e, P)
///   dP_ij     = round_dP(sum over c of dO_ic * V_jc)
///   delta_i   = round_delta(sum over c of dO_ic * O_ic), O as the forward pass stored it, or round_delta(sum over j <= i of
///               P_ij * dP_ij) (for the effect of a biased error of O on the former see arXiv 2510.04212)
///   dS_ij     = round_dS(P_ij * round_centred(dP_ij - delta_i))
///   dQ_ic     = round_dQ(scale * sum over j <= i of dS_ij * K_jc)
///   dV_jc     = round_dV(sum over i >= j of round_P(P_ij) * dO_ic), round_P the grad step's
///   dK_jc     = round_dK(scale * sum over i >= j of dS_ij * Q_ic)
/// Every sum is one chain of fma from 0, ascending in c, j or i, rounded after every fma by the step of its name (dp_step,
/// delta_step, dq_step, dv_step, dk_step); keys that a row does not see take no part. Roundings count as the identity for the
/// gradients.
template <class T>
struct HeadRule {
  Job<T> job{};  ///< of `context` rows and keys, without q, k, v, their ranges, and a seed
  RounderPlan<T> grad[grad_step_count]{};
  DeltaFrom delta_from = DeltaFrom::output;
  bool normalises = false;  ///< P = e/l, as three_pass and two_pass round it, instead of exp(S - L)

  ATTOSCOPE_HOST_DEVICE_INLINE const RounderPlan<T>& operator[](GradStep s) const { return grad[static_cast<int>(s)]; }
};

/// The rule of a head of `shape` under `method`; its attention is exact if `exact`.
template <class T>
HeadRule<T> head_rule(const ModelShape& shape, const TrainMethod& method, bool exact);

/// Attention of a layer for every sequence and head. Row r of a matrix is token r % context of sequence r / context, at
/// r * row_stride; head h has columns h * d .. h * d + d - 1.
template <class T>
struct HeadBatch {
  const HeadRule<T>* rules = nullptr;  ///< [head]; in host memory, alive until the call returns
  int sequences = 0, heads = 0, context = 0, d = 0;
  std::int64_t row_stride = 0;  ///< of all matrices
  const T *q = nullptr, *k = nullptr, *v = nullptr;
  T* o = nullptr;                   ///< the result of the method's `output` step
  T *m = nullptr, *l = nullptr;     ///< [(sequence * heads + head) * context + token]: as the forward pass left them, m in the
                                    ///< job's units of S; split_kv: m + ln l is the log-sum-exp of the scores (l is 1 in rows
                                    ///< with keys in one run only)
  std::uint64_t rounding_seed = 0;  ///< for stochastic rounding; differs by step and layer
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
  std::int64_t lost_dS = 0;        ///< P*(dP - delta) != 0 whose dS is 0
  std::int64_t overflowed_dS = 0;  ///< dS that is infinite, NaN or saturated
  double delta_error = 0;          ///< sum over rows of delta - rowsum(dO*O) with the exact O of the same Q, K, V
  double delta_size = 0;           ///< sum over rows of |rowsum(dO*O)| with the exact O
};

/// The statistics of every head of a layer, computed on the CPU; `backward` is the input of the backward pass (its outputs are
/// not read), in host memory.
std::vector<HeadStatistics> head_statistics(const HeadGradient<float>& backward, int threads);

}  // namespace attoscope
