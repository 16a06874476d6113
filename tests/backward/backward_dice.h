/// Random backward passes that an experiment may have, their incoming gradients, and comparisons of their results.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "kernels/backward/backward.h"
#include "kernels/cpu/inputs.h"
#include "kernels/cpu/simulate.h"
#include "kernels/experiment/accumulators.h"
#include "kernels/lanes/job.h"
#include "tests/reference/plain.h"
#include "tests/reference/plain_backward.h"
#include "tests/support/seeds.h"  // IWYU pragma: export

namespace attoscope::testing {

/// True if the method's forward pass has a backward one.
inline bool has_backward(const Method& m) { return !m.scaling.hadamard && m.scaling.smooth_Q == 0; }

/// A small experiment whose methods have backward passes.
inline Experiment random_backward_experiment(Dice& dice) {
  for (;;) {
    Experiment e = random_experiment(dice);
    const AttentionShape shape = shape_of(e.problem);
    if (shape.n * shape.n_k <= 1600 && has_backward(e.a) && has_backward(e.b)) return e;
  }
}

/// Random roundings of gradients: each step keeps its default, or rounds to the main format or to a random format.
inline GradPrecision random_grad_precision(Dice& dice) {
  GradPrecision p;
  p.delta_from = static_cast<DeltaFrom>(dice.between(0, 1));
  const int one_in = dice.between(1, 4);
  for (Rounding& r : p.steps) {
    if (!dice.one_in(one_in)) continue;
    do r = dice.one_in(2) ? to_main : to_format(random_format(dice));
    while (r.kind == Rounding::Kind::format && significand_bits(r.format) > 24);
  }
  return p;
}

/// A random accumulator that adds products of factors in `format`, or fma.
inline Accumulator random_accumulator(Dice& dice, const Format& format) {
  const auto a = static_cast<Accumulator>(dice.between(static_cast<int>(Accumulator::v100), accumulator_names.size() - 1));
  return why_no_tensor_core(gpu_of(a), format, sums_of(a)).empty() ? a : Accumulator::fma;
}

/// Tensor cores for some of the products, with roundings that allow them.
inline void add_grad_accumulators(GradMethod& g, Dice& dice, const Experiment& e, const Method& m) {
  const Format input = input_format(e, m);
  if (works_in_double(e) || m.scaling.stores()) return;
  for (const GradStep s : {GradStep::dp_step, GradStep::dv_step, GradStep::dk_step, GradStep::dq_step}) g.precision[s] = exact;
  for (const GradStep s : {GradStep::P, GradStep::dS}) g.precision[s] = to_format(input);
  for (Accumulator* a : {&g.accumulator.dP, &g.accumulator.dV, &g.accumulator.dK, &g.accumulator.dQ})
    if (dice.one_in(2)) *a = random_accumulator(dice, input);
  if (g.scale_at == ScaleAt::K) g.accumulator.dQ = Accumulator::fma;
}

/// Any backward pass without scales and tensor cores that `m`, a or b of the experiment, may have.
inline GradMethod random_gradient(Dice& dice, const Experiment& e, const Method& m) {
  GradMethod g{.precision = random_grad_precision(dice)};
  const bool may_scale_K =
      e.problem.softcap == 0 && e.problem.alibi == 0 && !m.scaling.stores() && m.accumulator.qk == Accumulator::fma;
  g.scale_at = static_cast<ScaleAt>(dice.between(0, may_scale_K ? 2 : 1));
  g.exponential = static_cast<GradExponential>(dice.between(0, 2));
  g.block_q = dice.one_in(4) ? dice.between(1, 3) : dice.between(1, 80);
  g.block_k = dice.one_in(3) ? dice.between(1, 3) : dice.between(1, 80);
  g.order = static_cast<GradOrder>(dice.between(0, 3));
  g.order_seed = dice.bits();
  g.buffers = dice.one_in(4) ? max_grad_buffers : dice.between(1, 5);
  g.last_queries_first = dice.one_in(2);
  return g;
}

/// Random scales of some of dO, P and dS.
inline void add_grad_scalings(GradMethod& g, Dice& dice) {
  static constexpr std::string_view texts[] = {
      "e4m3/head/x256",      "int8/token",        "int8/head",         "e4m3/block:32/e8m0/ceil",
      "e2m1/block:16/nvfp4", "e4m3/rows:8/ratio", "int8/channel/away", "e5m2/block:3/unrounded",
      "e4m3/columns:5"};
  g.accumulator = {};
  for (Scaling* s : {&g.scaling.dO, &g.scaling.P, &g.scaling.dS, &g.scaling.dS_of_dK})
    if (!dice.one_in(3)) *s = parse_scaling(dice.any(texts));
}

/// dO, rounded by a's input step, and sometimes dL; `nasty`: some numbers are not finite, or are huge.
inline OutputGradients random_incoming(Dice& dice, const Experiment& e, bool nasty) {
  static constexpr double nasties[] = {NAN, HUGE_VAL, -HUGE_VAL, 0.0, -0.0, 3e38, 1e-40};
  OutputGradients d;
  const AttentionShape shape = shape_of(e.problem);
  const Rounding& r = e.a.precision[Step::input];
  for (int i = 0; i < shape.n * shape.d_v; ++i) {
    const auto x = static_cast<float>(nasty && dice.one_in(60) ? dice.any(nasties) : dice.normal());
    d.d_o.push_back(r.kind == Rounding::Kind::exact ? x : plain::nearest(format_of(r, e.format), static_cast<double>(x)));
  }
  if (dice.one_in(2))
    for (int i = 0; i < shape.n; ++i) d.d_lse.push_back(static_cast<float>(dice.normal()));
  return d;
}

inline std::string describe(const GradMethod& g, const Format& main) {
  std::ostringstream out;
  out << "\n  gradient: " << scale_at_names[g.scale_at] << ' ' << grad_exponential_names[g.exponential] << " tiles "
      << g.block_q << " x " << g.block_k << ' ' << grad_order_names[g.order] << ' ' << g.order_seed << ' ' << g.buffers
      << (g.last_queries_first ? " last_queries_first" : "") << " delta from " << delta_from_names[g.precision.delta_from]
      << " dP=" << name(g.accumulator.dP) << " dV=" << name(g.accumulator.dV) << " dK=" << name(g.accumulator.dK)
      << " dQ=" << name(g.accumulator.dQ) << " dO as " << scaling_text(g.scaling.dO) << " P as " << scaling_text(g.scaling.P)
      << " dS as " << scaling_text(g.scaling.dS) << " and " << scaling_text(g.scaling.dS_of_dK) << "\n   ";
  for (const GradStepInfo& s : grad_step_infos)
    if (const Rounding& r = g.precision[s.step]; r != exact)
      out << ' ' << s.name << '=' << name(format_of(r, main)) << (r.stochastic ? "~" : "");
  return out.str();
}

/// Calls f(T{}) with the experiment's working type.
void in_working_type(const Experiment& e, auto f) { works_in_double(e) ? f(double{}) : f(float{}); }

/// Sets the instruction set for a scope.
struct OnSet : StopSign {
  explicit OnSet(std::string_view name) { isa = name; }
};

/// Success if the matrices have the same bits.
inline ::testing::AssertionResult same_bits(const char* what, const Matrix& x, const Matrix& y) {
  if (x.rows != y.rows || x.cols != y.cols)
    return ::testing::AssertionFailure() << what << " is " << x.rows << " x " << x.cols << " instead of " << y.rows << " x "
                                         << y.cols;
  for (int row = 0; row < x.rows; ++row)
    for (int c = 0; c < x.cols; ++c)
      if (!same(x(row, c), y(row, c)))
        return ::testing::AssertionFailure() << what << " is " << std::hexfloat << x(row, c) << " instead of " << y(row, c)
                                             << " at (" << std::dec << row << ", " << c << ")";
  return ::testing::AssertionSuccess();
}
inline Matrix column(const std::vector<double>& x) { return {static_cast<int>(x.size()), 1, x}; }

/// Success if both gradients have the same bits.
inline ::testing::AssertionResult same_gradients(const Gradients& x, const Gradients& y) {
  for (const auto& [what, of] : {std::pair{"lse", &Gradients::lse}, {"delta", &Gradients::delta}})
    if (auto result = same_bits(what, column(x.*of), column(y.*of)); !result) return result;
  for (const auto& [what, of] : {std::pair{"dV", &Gradients::dv}, {"dQ", &Gradients::dq}, {"dK", &Gradients::dk}})
    if (auto result = same_bits(what, x.*of, y.*of); !result) return result;
  if (auto result = same_bits("lost_ds", column({x.lost_ds}), column({y.lost_ds})); !result) return result;
  return same_bits("dsink", column({x.dsink}), column({y.dsink}));
}

/// The backward pass of a or b of the experiment on an instruction set.
template <class T>
Gradients gradients_on(std::string_view isa, const Experiment& e, const Method& m, const GradMethod& g,
                       const OutputGradients& d) {
  const OnSet on(isa);
  const Operands<T> x = operands<T>(*raw_inputs(e.problem), e.a.precision[Step::input], e.format, e.problem.seed);
  return gradients<T>(e.problem, m, g, e.format, x, d, on);
}

}  // namespace attoscope::testing
