/// Attention's backward pass of one head: dQ, dK and dV of golden and of any method. The rule is written in README.md.
#pragma once

#include <vector>

#include "kernels/backward/gradient_device.h"
#include "kernels/cpu/simulate.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/gradients.h"
#include "kernels/experiment/stop_sign.h"

namespace attoscope {

/// dO and dL of the experiment, made or from its files, dO rounded by a's `input` step. Throws what `stop` throws.
OutputGradients output_gradients(const Experiment& e, const StopSign& stop = {});

/// The keys whose dK and dV are computed, ascending: all, or problem.rows of them evenly spread.
std::vector<int> computed_keys(const Problem& p);

/// A method's forward pass of all queries, as `run` leaves it; null: it is not known.
template <class T>
struct ForwardAnswer {
  const Matrix* output = nullptr;
  const RowStates<T>* states = nullptr;
};

/// The gradients of `method` with backward pass `grad` on inputs that are rounded for all methods (b's own input step is
/// applied here). T is float, or double where the experiment works in double. Its forward pass is computed where it is not
/// `known`. A `device` computes instead of the CPU where `has_on_device`. Throws what `stop` and the device throw.
template <class T>
Gradients gradients(const Problem& problem, const Method& method, const GradMethod& grad, const Format& main,
                    const Operands<T>& x, const OutputGradients& d, const StopSign& stop = {},
                    const ForwardAnswer<T>& known = {}, GradientDevice* device = nullptr);

/// True if a device can compute the backward pass: it stores no P or dS with scales.
bool has_on_device(const GradMethod& grad);

/// Golden's: in double on `inputs`, by the device if there is one, or in double-double rounded to double where `precise`.
Gradients golden_gradients(const Problem& problem, const Tensors& inputs, const OutputGradients& d, bool precise,
                           const StopSign& stop = {}, GradientDevice* device = nullptr);

}  // namespace attoscope
