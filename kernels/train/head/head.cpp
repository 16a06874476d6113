#include "kernels/train/head/head.h"

#include "kernels/cpu/simulate.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/grad_kernels.h"

namespace attoscope {
namespace {

/// `method` with nothing rounded beyond its input.
TrainMethod without_rounding(TrainMethod method) {
  const Rounding input = method.method.precision[Step::input];
  method.method.precision.steps = {};
  method.method.precision[Step::input] = input;
  method.gradient.steps = {};
  method.method.accumulator = {};
  return method;
}

}  // namespace

template <class T>
HeadRule<T> head_rule(const ModelShape& shape, const TrainMethod& method, bool is_exact) {
  const TrainMethod x = is_exact ? without_rounding(method) : method;
  Problem problem;
  problem.n = shape.context;
  problem.d = shape.head_dimension();
  problem.mask.kind = Mask::Kind::causal;
  HeadRule<T> rule;
  Operands<T> inputs;  // their formats alone
  if (const Rounding& r = x.method.precision[Step::input]; r.kind != Rounding::Kind::exact)
    inputs.format = format_of(r, x.format);
  rule.job = job(problem, x.method, x.format, inputs);
  rule.job.seed = 0;
  for (std::size_t i = 0; i < grad_step_count; ++i)
    if (is_of_training(static_cast<GradStep>(i))) rule.grad[i] = plan<T>(x.gradient.steps[i], x.format);
  rule.delta_from = x.gradient.delta_from;
  rule.normalises = normalises_P(x.method.algorithm);
  rule.is_merged = x.method.algorithm == Algorithm::split_kv;
  rule.rounds_m = true;
  rule.factors.dQ = rule.factors.dK = rule.job.scale * rule.job.exp2.score_unit;
  rule.block_k = shape.context;
  return rule;
}

template HeadRule<float> head_rule(const ModelShape&, const TrainMethod&, bool);
template HeadRule<double> head_rule(const ModelShape&, const TrainMethod&, bool);

}  // namespace attoscope
