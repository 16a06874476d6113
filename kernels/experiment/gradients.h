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

/// The gradients of one method, or golden's, and the rows of numbers that they come from.
struct Gradients {
  Matrix dq;                       ///< computed rows x d
  Matrix dk, dv;                   ///< computed keys x d, and x d_v
  std::vector<double> delta, lse;  ///< of every query; lse is -infinity where it sees no key
  double dsink = 0;                ///< 0 without a sink
  /// Share of the pairs that the computed rows see whose exact dS, of the method's own P, dP and delta, is not 0 while dS as it
  /// enters dQ is.
  double lost_ds = 0;
};

/// The gradients that come into a backward pass.
struct OutputGradients {
  std::vector<double> d_o;    ///< n x d_v, rounded by a's `input` step
  std::vector<double> d_lse;  ///< n; empty: 0
};

/// A measure of dQ, dK and dV each.
struct GradientDeviations {
  Deviation dq, dk, dv;
};

/// delta of a method against golden's, over all queries with keys: largest, root mean square and signed mean difference.
struct DeltaDeviation {
  double max_abs = 0, rms = 0, bias = 0;
};

/// Numbers of a tensor of the backward pass that belong to no comparison.
struct TensorNumbers {
  double golden_rms = 0;  ///< over the finite values
  std::int64_t golden_nonfinite = 0;
  Digests digests{};
};

/// The backward pass of an experiment, answered.
struct BackwardResult {
  std::vector<int> keys;  ///< whose dK and dV were computed, ascending; dQ's rows are Result::rows
  std::shared_ptr<const OutputGradients> incoming;
  std::shared_ptr<const Matrix> d_o;  ///< of `incoming`: the computed rows
  std::shared_ptr<const Gradients> golden;
  Gradients a, b;
  GradientDeviations a_error, b_error, a_minus_b;
  DeltaDeviation a_delta, b_delta;
  std::array<TensorNumbers, 1 + gradient_tensors.size()> tensors;  ///< of dO, dQ, dK and dV
  std::uint64_t golden_digest = 0, a_digest = 0, b_digest = 0;     ///< of dQ, dK and dV in turn
};

}  // namespace attoscope
