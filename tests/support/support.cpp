#include "tests/support/support.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <thread>
#include <vector>

#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/presets.h"

namespace attoscope::testing {

void in_parallel(std::uint64_t count, const std::function<void(std::uint64_t, std::uint64_t)>& work) {
  const std::uint64_t parts = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (std::uint64_t i = 0; i < parts; ++i) threads.emplace_back(work, count * i / parts, count * (i + 1) / parts);
}

Experiment small_experiment(Format format, int n, int d) {
  Experiment e = default_experiment();
  e.format = format;
  e.problem.n = n;
  e.problem.d = d;
  e.a.block_k = 16;
  return e;
}

Format random_format(Dice& dice) {
  static constexpr Format common[] = {bf16, fp16, tf32, e4m3, e5m2, fp32};
  if (!dice.one_in(4)) return dice.any(common);
  Format f{dice.between(min_exponent_bits, max_exponent_bits), dice.one_in(8) ? dice.between(24, 52) : dice.between(0, 23)};
  f.overflow = static_cast<Overflow>(dice.between(0, 2));
  f.top_code_nan = f.overflow != Overflow::infinity && dice.one_in(2);
  return f;
}

namespace {

Rounding random_rounding(Dice& dice) {
  if (dice.one_in(3)) return exact;
  return dice.one_in(2) ? to_main : to_format(random_format(dice));
}

Precision random_precision(Dice& dice) {
  Precision p = dice.any(policies()).precision;
  if (dice.one_in(2)) p.steps[static_cast<std::size_t>(dice.between(0, step_count - 1))] = random_rounding(dice);
  if (dice.one_in(6)) std::ranges::generate(p.steps, [&] { return random_rounding(dice); });
  if (dice.one_in(4)) p.sum_rounded_P = !p.sum_rounded_P;
  if (dice.one_in(4)) p.accumulate_in_O = !p.accumulate_in_O;
  return p;
}

/// Any algorithm, its parameters, and now and then any option.
Method random_method(Dice& dice) {
  static constexpr double taus[] = {0, 0.5, 3, 8, 64}, betas[] = {1.5, 2, 8, 64};
  Method m{.algorithm = static_cast<Algorithm>(dice.between(0, static_cast<int>(Algorithm::split_kv)))};
  m.block_q = dice.between(1, 80);
  m.block_k = dice.one_in(4) ? dice.between(1, 3) : dice.between(1, 80);
  m.splits = dice.one_in(8) ? max_splits : dice.between(1, 6);
  m.tau = dice.any(taus);
  if (dice.one_in(6)) m.tie_beta = dice.any(betas);
  if (dice.one_in(3)) m.exponential = ExponentialKind::exp2;
  if (dice.one_in(3)) m.exp2_degree = dice.between(1, max_exp2_degree);
  if (dice.one_in(5)) m.p_exponent = dice.one_in(3) ? 8 : dice.between(-12, 20);
  m.kahan_l = dice.one_in(5);
  if (dice.one_in(2)) m.order = static_cast<SumOrder>(dice.between(0, 2));
  m.sum_lanes = dice.one_in(8) ? max_sum_lanes : dice.between(1, 12);
  m.reverse_keys = dice.one_in(4);
  m.precision = random_precision(dice);
  return m;
}

/// Mostly normal values; now and then a NaN, an infinity, a zero, something huge or tiny.
double random_element(Dice& dice, bool nasty) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double nasties[] = {NAN, infinity, -infinity, 0.0, -0.0, 3e38, -6e4, 448, 1e-40, -1e-310, 1e300};
  return nasty && dice.one_in(60) ? dice.any(nasties) : dice.normal();
}

Tensors random_tensors(Dice& dice, int n, int d) {
  const bool nasty = dice.one_in(2);
  Tensors t{n, d, {}, {}, {}};
  for (auto* tensor : {&t.q, &t.k, &t.v}) {
    tensor->resize(static_cast<std::size_t>(n) * static_cast<std::size_t>(d));
    std::ranges::generate(*tensor, [&] { return random_element(dice, nasty); });
  }
  return t;
}

Input random_input(Dice& dice, int n, int d) {
  static constexpr double constants[] = {1, 0, -3, 300, 7e4, 1e19, 3e38, 1e-30};
  Input input{static_cast<InputKind>(dice.between(0, static_cast<int>(InputKind::tensors))), dice.any(constants), {}, 0, 0, {}};
  return input.kind == InputKind::tensors || dice.one_in(3) ? given(random_tensors(dice, n, d)) : input;
}

/// Now and then a sink, soft-capping, slopes.
void add_biases(Problem& p, Dice& dice) {
  static constexpr double sinks[] = {0, -1000, 1000, 60}, caps[] = {0.01, 1, 30, 1e4}, slopes[] = {0.125, -0.3, 2};
  if (dice.one_in(4)) p.sink = dice.one_in(4) ? dice.any(sinks) : 2 * dice.normal();
  if (dice.one_in(5)) p.softcap = dice.any(caps);
  if (dice.one_in(5)) p.alibi = dice.any(slopes);
}

}  // namespace

Input given(Tensors tensors) {
  Input input;
  input.kind = InputKind::tensors;
  for (const auto* tensor : {&tensors.q, &tensors.k, &tensors.v})
    for (const double x : *tensor) input.digest = (input.digest ^ std::bit_cast<std::uint64_t>(x)) * 0x100000001b3;
  input.tensors = std::make_shared<const Tensors>(std::move(tensors));
  return input;
}

Experiment random_experiment(Dice& dice) {
  Experiment e;
  Problem& p = e.problem;
  p.n = dice.one_in(8) ? dice.between(1, 3) : dice.between(1, 70);
  p.d = dice.one_in(8) ? dice.between(1, 3) : dice.between(1, 40);
  p.input = random_input(dice, p.n, p.d);
  p.seed = dice.bits();
  p.scale = dice.one_in(3) ? 3 * dice.unit() + 1e-3 : 0;
  p.mask = {static_cast<Mask::Kind>(dice.between(0, static_cast<int>(mask_names.size()) - 1)), dice.between(1, p.n + 3)};
  add_biases(p, dice);
  p.rows = dice.one_in(3) ? dice.between(1, p.n) : 0;
  p.traced_row = dice.between(-p.n, p.n - 1);
  e.format = dice.one_in(12) ? fp64 : random_format(dice);
  e.a = random_method(dice);
  e.b = random_method(dice);
  for (Method* m : {&e.a, &e.b}) add_accumulators(e, *m, dice);
  return e;
}

void add_accumulators(Experiment& e, Method& m, Dice& dice) {
  static constexpr Format factors[] = {fp16, bf16, tf32, e4m3, e5m2};
  if (dice.one_in(3)) m.flush = dice.one_in(2) ? dice.between(0, 2) : dice.between(-1, 9);
  if (dice.one_in(2)) return;
  m.order = SumOrder::sequential;
  m.precision[Step::qk_step] = m.precision[Step::pv_step] = exact;
  if (&m == &e.a && dice.one_in(2)) e.a.precision[Step::input] = to_format(dice.any(factors));
  if (dice.one_in(2)) m.precision[Step::P] = to_format(input_format(e, m));
  for (const AttentionProduct product : {AttentionProduct::qk, AttentionProduct::pv}) {
    std::vector<Accumulator> possible;
    for (std::size_t i = 0; i < accumulator_names.size(); ++i)
      if (why_no_accumulator(e, m, product, static_cast<Accumulator>(i)).empty())
        possible.push_back(static_cast<Accumulator>(i));
    (product == AttentionProduct::qk ? m.accumulator.qk : m.accumulator.pv) =
        possible[static_cast<std::size_t>(dice.between(0, static_cast<int>(possible.size()) - 1))];
  }
}

void drop_impossible_accumulators(Experiment& e) {
  for (Method* m : {&e.a, &e.b}) {
    if (!why_no_accumulator(e, *m, AttentionProduct::qk, m->accumulator.qk).empty()) m->accumulator.qk = Accumulator::fma;
    if (!why_no_accumulator(e, *m, AttentionProduct::pv, m->accumulator.pv).empty()) m->accumulator.pv = Accumulator::fma;
  }
}

void make_stochastic(Method& m, Dice& dice, int one_in) {
  for (Rounding& r : m.precision.steps) r.stochastic = r.kind != Rounding::Kind::exact && dice.one_in(one_in);
}

namespace {

void describe(std::ostream& out, const Method& m, const Format& main) {
  out << name(m.algorithm) << " block_k=" << m.block_k << " splits=" << m.splits << " tau=" << m.tau
      << " tie_beta=" << m.tie_beta << ' ' << exponential_names[static_cast<std::size_t>(m.exponential)]
      << " degree=" << m.exp2_degree << " p_exponent=" << m.p_exponent << (m.kahan_l ? " kahan_l " : " ")
      << sum_order_names[static_cast<std::size_t>(m.order)] << " sum_lanes=" << m.sum_lanes
      << (m.reverse_keys ? " reverse_keys" : "") << " qk=" << name(m.accumulator.qk) << " pv=" << name(m.accumulator.pv)
      << " flush=" << m.flush << "\n    ";
  for (int i = 0; i < step_count; ++i) {
    const Rounding& r = m.precision.steps[static_cast<std::size_t>(i)];
    if (r.kind == Rounding::Kind::exact) continue;
    out << ' ' << name(static_cast<Step>(i)) << '=' << name(format_of(r, main)) << (r.stochastic ? "~" : "");
  }
  out << (m.precision.sum_rounded_P ? " sum_rounded_P" : "") << (m.precision.accumulate_in_O ? " accumulate_in_O" : "");
}

}  // namespace

std::string describe(const Experiment& e) {
  const Problem& p = e.problem;
  std::ostringstream out;
  out << name(p.input.kind) << " value=" << p.input.value << " n=" << p.n << " d=" << p.d << " scale=" << p.scale
      << " sink=" << (p.sink ? *p.sink : NAN) << " softcap=" << p.softcap << " alibi=" << p.alibi
      << " mask=" << mask_names[static_cast<std::size_t>(p.mask.kind)] << ':' << p.mask.window << " rows=" << p.rows
      << " traced_row=" << p.traced_row << " format=" << name(e.format) << "\n  a: ";
  describe(out, e.a, e.format);
  out << "\n  b: ";
  describe(out, e.b, e.format);
  return out.str();
}

}  // namespace attoscope::testing
