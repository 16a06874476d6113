/// Answers of the backward pass: dQ, dK, dV of golden and of both methods, and their measures.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/experiment/answer_tensor.h"
#include "kernels/experiment/matrix.h"
#include "kernels/experiment/measures.h"

namespace attoscope {

/// The gradients of one method or of golden, with delta and the log-sum-exp of every query.
struct Gradients {
  Matrix dq;                       ///< computed rows x d
  Matrix dk, dv;                   ///< computed keys x d, and x d_v
  std::vector<double> delta, lse;  ///< of every query; lse is -infinity if it sees no key
  double dsink = 0;                ///< 0 without a sink
  /// Underflow of dS: share of the computed rows' visible pairs whose dS is 0 as it enters dQ, although the exact dS of the
  /// method's own P, dP and delta is not 0.
  double lost_ds = 0;
};

/// The incoming gradients of a backward pass.
struct OutputGradients {
  std::vector<double> d_o;    ///< n x d_v, rounded by a's `input` step
  std::vector<double> d_lse;  ///< n; empty: 0
};

/// Deviations of dQ, dK and dV.
struct GradientDeviations {
  Deviation dq, dk, dv;
};

/// delta of a method against golden's, over all queries with keys: largest, root mean square and signed mean difference.
struct DeltaDeviation {
  double max_abs = 0, rms = 0, bias = 0;
};

/// Golden's statistics, and digests, of one tensor of the backward pass.
struct TensorNumbers {
  double golden_rms = 0;  ///< over the finite values
  std::int64_t golden_nonfinite = 0;
  Digests digests{};
  bool is_loaded = false;  ///< a's was read from a file
};

/// Result of the backward pass of an experiment.
struct BackwardResult {
  std::vector<int> keys;  ///< keys whose dK and dV were computed, ascending; dQ has the rows Result::rows
  std::shared_ptr<const OutputGradients> incoming;
  std::shared_ptr<const Matrix> d_o;  ///< the computed rows of incoming->d_o
  std::shared_ptr<const Gradients> golden;
  Gradients a, b;
  GradientDeviations a_error, b_error, a_minus_b;
  DeltaDeviation a_delta, b_delta;
  std::array<TensorNumbers, 1 + gradient_tensors.size()> tensors;  ///< of dO, dQ, dK and dV
  std::uint64_t golden_digest = 0, a_digest = 0, b_digest = 0;     ///< over dQ, dK and dV in this order
};

}  // namespace attoscope
