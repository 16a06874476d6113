/// Backward pass of one head: dQ, dK and dV of golden and of any method. README.md states the rule.
#pragma once

#include <vector>

#include "kernels/backward/gradient_device.h"
#include "kernels/cpu/simulate.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/gradients.h"
#include "kernels/experiment/stop_sign.h"

namespace attoscope {

/// dO and dL of the experiment, generated or read from files; dO is rounded by a's `input` step. Throws what `stop` throws.
OutputGradients output_gradients(const Experiment& e, const StopSign& stop = {});

/// Keys whose dK and dV are computed, ascending: all, or problem.rows evenly spread ones.
std::vector<int> computed_keys(const Problem& p);

/// Output and row states of a method's forward pass over all queries, as `run` leaves them; null: not computed yet.
template <class T>
struct ForwardAnswer {
  const Matrix* output = nullptr;
  const RowStates<T>* states = nullptr;
};

/// Gradients of `method` with backward pass `grad`. `x` and `d` are inputs rounded for all methods; b's own input step is
/// applied here. T is float, or double if the experiment works in double. Computes the forward pass unless `known` has it. A
/// `device`, if given and if `has_on_device`, computes instead of the CPU. Throws what `stop` and the device throw.
template <class T>
Gradients gradients(const Problem& problem, const Method& method, const GradMethod& grad, const Format& main,
                    const Operands<T>& x, const OutputGradients& d, const StopSign& stop = {},
                    const ForwardAnswer<T>& known = {}, GradientDevice* device = nullptr);

/// True if a device can compute the backward pass: the pass stores neither P nor dS with scales.
bool has_on_device(const GradMethod& grad);

/// Golden's gradients of `inputs`: in double (by the device if given), or, if `precise`, in double-double rounded to double.
Gradients golden_gradients(const Problem& problem, const Tensors& inputs, const OutputGradients& d, bool precise,
                           const StopSign& stop = {}, GradientDevice* device = nullptr);

}  // namespace attoscope
