/// Inputs of one backward pass, made from the inputs that are rounded for all methods.
#pragma once

#include <vector>

#include "kernels/backward/backward_pass.h"
#include "kernels/cpu/scaled_operands.h"

namespace attoscope {

/// Tensor number of dO in random_bits.
inline constexpr int output_tensor = 4;

/// Inputs of a method; applies its own input step.
template <class T>
class MethodInputs {
 public:
  /// `x` must outlive this object.
  MethodInputs(const Problem& problem, const Method& method, const Format& main, const Operands<T>& x, const OutputGradients& d,
               const StopSign& stop)
      : problem_(problem),
        plan_(own_plan(method, main, x)),
        again_(plan_.rounds() ? operands<T>(*as_tensors(x, shape_of(problem), stop), method.precision[Step::input], main,
                                            problem.seed, stop)
                              : Operands<T>{}),
        mine_(plan_.rounds() ? again_ : x),
        d_o_(rounded(d.d_o, value_columns(problem), plan_, problem.seed, output_tensor, stop)),
        stored_(problem, method, main, mine_, stop),
        forward_(job(problem, method, main, stored_.get())) {}
  MethodInputs(MethodInputs&&) = delete;

  const Job<T>& forward() const { return forward_; }
  const Format& format() const { return mine_.format; }
  StoredRows<T> rows(const Scaling& of_d_o, const Format& main, const StopSign& stop) const {
    return {problem_, stored_.stored() != nullptr ? *stored_.stored() : mine_, d_o_, of_d_o, main, stop};
  }

 private:
  /// The method's input step; a plan that does not round if x already has its format.
  static RounderPlan<T> own_plan(const Method& method, const Format& main, const Operands<T>& x) {
    const RounderPlan<T> own = plan<T>(method.precision[Step::input], main);
    return !own.rounds() || own.format == x.format ? RounderPlan<T>{} : own;
  }

  const Problem& problem_;
  RounderPlan<T> plan_;
  Operands<T> again_;
  const Operands<T>& mine_;
  std::vector<T> d_o_;
  MethodOperands<T> stored_;
  Job<T> forward_;
};

/// Inputs of golden.
struct GoldenInputs {
  GoldenInputs(const Problem& problem, const Tensors& inputs) {
    x.q = inputs.q;
    x.k = inputs.k;
    x.v = inputs.v;
    forward = job(problem, Method{.algorithm = Algorithm::three_pass}, fp64, x);
  }
  StoredRows<double> rows(const Problem& problem, const OutputGradients& d, const StopSign& stop) const {
    return {problem, x, d.d_o, {}, fp64, stop};
  }
  Operands<double> x;
  Job<double> forward;
  GradMethod grad{.block_q = max_tile, .block_k = max_tile};
};

}  // namespace attoscope
