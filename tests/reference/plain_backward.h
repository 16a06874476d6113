/// The rule of kernels/backward/README.md as plainly as it can be written: every number of P, dP and dS by itself, double
/// loops. It shares nothing with kernels/backward but the value types. Without stochastic rounding.
#pragma once

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/gradients.h"

namespace attoscope::plain {

/// The gradients of `method`, a or b of the experiment, with the backward pass `grad`; `inputs` as rounded for all methods. dQ
/// has the rows of computed_rows.
attoscope::Gradients backward(const Experiment& experiment, const Method& method, const GradMethod& grad, const Tensors& inputs,
                              const OutputGradients& incoming);

/// Every pair of a query and a key, n x n_k; NaN where the query does not see the key.
struct GradientPairs {
  std::vector<double> p, dp, ds;  ///< as they enter the products, dP after its step
  std::vector<char> lost;         ///< 1 where ds is 0, but dS computed exactly from the method's P, dP and delta is not
};
GradientPairs backward_pairs(const Experiment& experiment, const Method& method, const GradMethod& grad, const Tensors& inputs,
                             const OutputGradients& incoming);

/// The keys of dK and dV: all, or as many as rows are computed.
std::vector<int> keys_of_backward(const Problem& problem);

/// Gradients of all rows and keys by golden's formulas, in 113 bits if the compiler has them, else in 64.
struct TrueGradients {
  std::vector<long double> dq, dk, dv, delta, lse;
  long double dsink = 0;
};
TrueGradients true_gradients(const Problem& problem, const Tensors& inputs, const OutputGradients& incoming);

/// The loss that the gradients differentiate: sum of dO*O and of dL*L, by the forward pass alone.
long double loss(const Problem& problem, const Tensors& inputs, const OutputGradients& incoming);

}  // namespace attoscope::plain
