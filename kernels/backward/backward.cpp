#include "kernels/backward/backward.h"

#include "kernels/backward/backward_pass.h"
#include "kernels/backward/method_inputs.h"

namespace attoscope {
template <class T>
Gradients gradients(const Problem& problem, const Method& method, const GradMethod& grad, const Format& main,
                    const Operands<T>& x, const OutputGradients& d, const StopSign& stop, const ForwardAnswer<T>& known,
                    GradientDevice* device) {
  const MethodInputs<T> inputs(problem, method, main, x, d, stop);
  BackwardPass<T> pass(problem, grad, main, inputs.rows(grad.scaling.dO, main, stop), d, stop,
                       has_on_device(grad) ? device : nullptr);
  return pass.of_method(inputs.forward(), inputs.format(), known);
}

template Gradients gradients(const Problem&, const Method&, const GradMethod&, const Format&, const Operands<float>&,
                             const OutputGradients&, const StopSign&, const ForwardAnswer<float>&, GradientDevice*);
template Gradients gradients(const Problem&, const Method&, const GradMethod&, const Format&, const Operands<double>&,
                             const OutputGradients&, const StopSign&, const ForwardAnswer<double>&, GradientDevice*);

bool has_on_device(const GradMethod& grad) {
  const GradScalings& s = grad.scaling;
  return !s.P.is_on() && !s.dS.is_on() && !s.dS_of_dK.is_on();
}

Gradients golden_gradients(const Problem& problem, const Tensors& inputs, const OutputGradients& d, bool precise,
                           const StopSign& stop, GradientDevice* device) {
  const GoldenInputs x(problem, inputs);
  BackwardPass<double> pass(problem, x.grad, fp64, x.rows(problem, d, stop), d, stop, precise ? nullptr : device);
  return pass.of_golden(x.forward, precise);
}

}  // namespace attoscope
