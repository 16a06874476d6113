/// Answers of the backward pass: dQ, dK, dV of golden and of both methods, and their measures.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/experiment/matrix.h"
#include "kernels/experiment/measures.h"

namespace attoscope {

/// The gradients of one method, or golden's, and the rows of numbers that they come from.
struct Gradients {
  Matrix dq;                       ///< computed rows x d
  Matrix dk, dv;                   ///< computed keys x d, and x d_v
  std::vector<double> delta, lse;  ///< of every query; lse is -infinity where it sees no key
  double dsink = 0;                ///< 0 without a sink
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

/// The backward pass of an experiment, answered.
struct BackwardResult {
  std::vector<int> keys;  ///< whose dK and dV were computed, ascending; dQ's rows are Result::rows
  std::shared_ptr<const OutputGradients> incoming;
  std::shared_ptr<const Gradients> golden;
  Gradients a, b;
  GradientDeviations a_error, b_error, a_minus_b;
  DeltaDeviation a_delta, b_delta;
  std::uint64_t golden_digest = 0, a_digest = 0, b_digest = 0;  ///< of dQ, dK and dV in turn
};

}  // namespace attoscope
