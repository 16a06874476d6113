/// Attention of many heads, forward and backward: what a backend is asked, and what it counts. Queries, keys and values of a head
/// are columns of row-major matrices; causal, scale 1/sqrt(d).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/job.h"
#include "kernels/train/plan.h"

namespace attoscope {

/// How one head computes: made once for a model.
template <class T>
struct HeadRule {
  Job<T> job{};  ///< of `context` rows and keys, without q, k, v, their ranges, and a seed
  RounderPlan<T> grad[grad_step_count]{};
  DeltaFrom delta_from = DeltaFrom::output;
  bool normalises = false;  ///< P = e/l, as three_pass and two_pass round it, instead of exp(S - L)

  ATTOSCOPE_HD const RounderPlan<T>& operator[](GradStep s) const { return grad[static_cast<int>(s)]; }
};

/// The rule of a head of `shape` under `method`, whose attention is exact where `exact`.
template <class T>
HeadRule<T> head_rule(const ModelShape& shape, const TrainMethod& method, bool exact);

/// Attention of a layer for every sequence and head. Row r of a matrix is token r % context of sequence r / context, at
/// r * row_stride; head h has columns h * d .. h * d + d - 1.
template <class T>
struct HeadBatch {
  const HeadRule<T>* rules = nullptr;  ///< [head]; in host memory, alive until the call returns
  int sequences = 0, heads = 0, context = 0, d = 0;
  std::int64_t row_stride = 0;         ///< of all matrices
  const T *q = nullptr, *k = nullptr, *v = nullptr;
  T* o = nullptr;                      ///< what the method's `output` step stores
  T *m = nullptr, *l = nullptr;        ///< [(sequence * heads + head) * context + token]: m times score_unit in the job's units
                                       ///< of S as the forward pass left them; split_kv: m is the runs' log-sum-exp as merged
  std::uint64_t dice = 0;              ///< for stochastic rounding; differs by step and layer
};

/// Its backward pass: dO in, dQ, dK, dV out (laid out as q, k, v).
template <class T>
struct HeadGradient {
  HeadBatch<T> forward;
  const T* d_o = nullptr;
  T *d_q = nullptr, *d_k = nullptr, *d_v = nullptr;
};

/// What was counted in one head over all sequences of a batch.
struct HeadCensus {
  std::int64_t rows = 0;
  std::int64_t tied_rows = 0;     ///< rows whose largest score belongs to several keys
  std::int64_t weights = 0;       ///< (row, visible key) pairs
  std::int64_t saturated = 0;     ///< scores and P beyond the largest number of their format, infinite, or NaN
  std::int64_t underflowed = 0;   ///< exp(S - m) > 0 whose P is 0
  std::int64_t lost_dS = 0;       ///< P*(dP - delta) != 0 whose dS is 0
  std::int64_t overflowed_dS = 0; ///< dS that is infinite, NaN or saturated
  double delta_error = 0;         ///< sum over rows of delta - rowsum(dO*O) with the exact O of the same Q, K, V
  double delta_size = 0;          ///< sum over rows of |rowsum(dO*O)| with the exact O
};

/// The census of every head of a layer; `backward` as it was asked (its outputs are not read). On the CPU, in host memory.
std::vector<HeadCensus> census(const HeadGradient<float>& backward, int threads);

}  // namespace attoscope
