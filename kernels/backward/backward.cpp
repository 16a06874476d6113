#include "kernels/backward/backward.h"

#include "kernels/backward/backward_pass.h"
#include "kernels/backward/method_inputs.h"

namespace attoscope {
namespace {

/// Stream of dO's random numbers; kernels/cpu/inputs.cpp has the other streams.
constexpr std::uint32_t output_stream = 11;

std::vector<double> drawn(const Experiment& e, const StopSign& stop) {
  const std::size_t count = place(e.problem.n, value_columns(e.problem));
  if (e.backward.d_o == OutputGradient::file) return *e.backward.d_o_file.values;
  std::vector<double> x = zeros<double>(count, stop);
  constexpr std::size_t piece = 1 << 12;
  const bool is_normal = e.backward.d_o == OutputGradient::normal;
  parallel_for(std::size_t{0}, (count + piece - 1) / piece, [&](std::size_t i) {
    stop.check();
    const std::size_t first = i * piece, size = std::min(piece, count - first);
    if (!is_normal) return void(std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(first), size, 1.0));
    instruction_set(stop.isa).normals(e.problem.seed, output_stream, first, static_cast<std::int64_t>(size), x.data() + first);
  });
  return x;
}

template <class T>
std::vector<double> rounded_in(const std::vector<double>& x, const Experiment& e, const StopSign& stop) {
  const RounderPlan<T> input = plan<T>(e.a.precision[Step::input], e.format);
  const std::vector<T> y = rounded(x, value_columns(e.problem), input, e.problem.seed, output_tensor, stop);
  return {y.begin(), y.end()};
}

}  // namespace

OutputGradients output_gradients(const Experiment& e, const StopSign& stop) {
  const std::vector<double> x = drawn(e, stop);
  OutputGradients d;
  d.d_o = works_in_double(e) ? rounded_in<double>(x, e, stop) : rounded_in<float>(x, e, stop);
  if (e.backward.d_lse_file.values) d.d_lse = *e.backward.d_lse_file.values;
  const int columns = value_columns(e.problem);
  for (int row = 0; row < e.problem.n; ++row) {
    if (!visible_keys(e.problem, row).empty()) continue;
    std::fill_n(d.d_o.begin() + std::ptrdiff_t{row} * columns, columns, 0.0);  // 0 times a NaN would be NaN
    if (!d.d_lse.empty()) d.d_lse[static_cast<std::size_t>(row)] = 0;
  }
  return d;
}

std::vector<int> computed_keys(const Problem& p) {
  const int n_k = key_count(p), count = p.rows == 0 ? n_k : std::min(p.rows, n_k);
  std::vector<int> keys;
  for (int i = 0; i < count; ++i) keys.push_back(static_cast<int>(static_cast<std::int64_t>(i) * n_k / count));
  return keys;
}

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
