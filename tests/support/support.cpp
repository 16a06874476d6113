#include "tests/support/support.h"

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>
#include <thread>
#include <vector>

#include "kernels/experiment/all_heads.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/text.h"
#include "kernels/lanes/job.h"

namespace attoscope::testing {

void in_parallel(std::uint64_t count, const std::function<void(std::uint64_t, std::uint64_t)>& work) {
  const std::uint64_t parts = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (std::uint64_t i = 0; i < parts; ++i) threads.emplace_back(work, count * i / parts, count * (i + 1) / parts);
}

std::vector<const char*> own_instruction_sets() {
  std::vector<const char*> own{"sse2", "avx2", "avx512", "simt"};
  std::erase_if(own, [](const char* isa) { return !has_instruction_set(isa); });
  return own;
}

Experiment sized_experiment(int n, int d, Format format) {
  Experiment e = default_experiment();
  e.format = format;
  e.problem.n = n;
  e.problem.d = d;
  return e;
}

Experiment small_experiment(Format format, int n, int d) {
  Experiment e = sized_experiment(n, d, format);
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

/// A random algorithm with random parameters and, sometimes, options.
Method random_method(Dice& dice) {
  static constexpr double taus[] = {0, 0.5, 3, 8, 64}, betas[] = {1.5, 2, 8, 64};
  Method m{.algorithm = dice.any(emulated_algorithms)};
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

/// A normal value; if `nasty`, sometimes NaN, infinity, zero, a huge or a tiny value.
double random_element(Dice& dice, bool nasty) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double nasties[] = {NAN, infinity, -infinity, 0.0, -0.0, 3e38, -6e4, 448, 1e-40, -1e-310, 1e300};
  return nasty && dice.one_in(60) ? dice.any(nasties) : dice.normal();
}

Tensors random_tensors(Dice& dice, const AttentionShape& shape) {
  const bool nasty = dice.one_in(2);
  return drawn_tensors(shape, [&] { return random_element(dice, nasty); });
}

Input random_input(Dice& dice, const AttentionShape& shape) {
  static constexpr double constants[] = {1, 0, -3, 300, 7e4, 1e19, 3e38, 1e-30};
  Input input{static_cast<InputKind>(dice.between(0, static_cast<int>(InputKind::tensors))), dice.any(constants), {}, 0, 0, {}};
  return input.kind == InputKind::tensors || dice.one_in(3) ? given(random_tensors(dice, shape)) : input;
}

/// Sometimes sets a number of keys other than of queries, or columns of V other than of Q. Has its own dice, so that other
/// random choices stay the same.
void add_shape(Problem& p) {
  Dice dice(static_cast<std::uint64_t>(p.n) << 32 | static_cast<std::uint64_t>(p.d));
  if (dice.one_in(3)) p.n_k = dice.one_in(3) ? dice.between(1, 3) : dice.between(1, 90);
  if (dice.one_in(4)) p.d_v = dice.between(1, 48);
  if (dice.one_in(8)) p.n = 1;
  p.mask.top_left = dice.one_in(2);
}

/// Sometimes sets a sink, a soft cap, a slope.
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
  add_shape(p);
  p.input = random_input(dice, shape_of(p));
  p.seed = dice.bits();
  p.scale = dice.one_in(3) ? 3 * dice.unit() + 1e-3 : 0;
  p.mask.kind = static_cast<Mask::Kind>(dice.between(0, static_cast<int>(mask_names.size()) - 1));
  p.mask.window = dice.between(1, p.n + 3);
  p.mask.right = p.mask.window % 5 == 0 ? p.mask.window / 3 : 0;
  add_biases(p, dice);
  p.rows = dice.one_in(3) ? dice.between(1, p.n) : 0;
  p.traced_row = dice.between(-p.n, p.n - 1);
  e.format = dice.one_in(12) ? fp64 : random_format(dice);
  e.a = random_method(dice);
  e.b = random_method(dice);
  for (Method* m : {&e.a, &e.b}) add_accumulators(e, *m, dice);
  Dice own(dice.bits());  // leaves other random choices the same
  for (Method* m : {&e.a, &e.b})
    if (own.one_in(3)) add_scalings(e, *m, own);
  if (own.one_in(2)) add_other_heads(e, own);
  return e;
}

namespace {

Scaling random_scaling(Dice& dice, ScaledTensor t) {
  Scaling s{.element = dice.one_in(6) ? Element{Element::Kind::format, {dice.between(2, 5), dice.between(4, 10)}}
                                      : dice.any(named_elements).element,
            .granularity = static_cast<Granularity>(dice.between(0, 6))};
  if (t == ScaledTensor::P) s.granularity = dice.one_in(2) ? Granularity::head : Granularity::block;
  if (has_block(s.granularity)) s.block = t == ScaledTensor::P ? 1 << dice.between(0, 6) : dice.between(1, 40);
  s.scale = static_cast<ScaleFormat>(dice.between(0, 3));
  s.rule = static_cast<ScaleRule>(dice.between(0, 2));
  const bool has_factor = t == ScaledTensor::P || (s.granularity == Granularity::head && dice.one_in(4));
  if (has_factor) s.factor = dice.one_in(2) ? std::ldexp(1, dice.between(-3, 9)) : 448;
  if (has_factor && s.granularity == Granularity::head) s.rule = ScaleRule::fixed;
  s.quotient = static_cast<Quotient>(dice.between(0, 3));
  s.tie = s.element.kind == Element::Kind::integer && dice.one_in(2) ? Tie::away : Tie::even;
  s.most = t != ScaledTensor::P && dice.one_in(6) ? 2.25 : 0;
  s.added = t != ScaledTensor::P && dice.one_in(4) ? 1e-7 : 0;
  s.shifts = t == ScaledTensor::P && dice.one_in(2);
  s.in_operand = t != ScaledTensor::P && dice.one_in(4);
  if (s.in_operand && dice.one_in(2)) s.operand = dice.one_in(2) ? to_main : to_format(bf16);
  return s;
}

}  // namespace

void add_scalings(Experiment& e, Method& m, Dice& dice) {
  Scalings s;
  for (const ScaledTensor t : {ScaledTensor::Q, ScaledTensor::K, ScaledTensor::V, ScaledTensor::P}) {
    if (dice.one_in(3)) continue;
    Method tried = m;
    do {
      tried.scaling = {};
      tried.scaling[t] = random_scaling(dice, t);
    } while (!why_not_scaled(tried, e.problem).empty() && !dice.one_in(20));
    if (why_not_scaled(tried, e.problem).empty()) s[t] = tried.scaling[t];
  }
  s.hadamard = dice.one_in(4);
  s.smooth_K = dice.one_in(3);
  s.smooth_Q = dice.one_in(4) ? dice.between(1, e.problem.n + 3) : 0;
  s.smooth_V = dice.one_in(3);
  if (dice.one_in(3)) s.smoothed = dice.one_in(2) ? to_main : to_format(bf16);
  m.scaling = s;
  while (!why_not_scaled(m, e.problem).empty()) {
    m.scaling.hadamard = m.scaling.smooth_K = m.scaling.smooth_V = false;
    if (!why_not_scaled(m, e.problem).empty()) m.scaling = {};
  }
  drop_impossible_accumulators(e);
}

void add_other_heads(Experiment& e, Dice& dice) {
  Input& input = e.problem.input;
  if (input.tensors) {
    Tensors beside = *input.tensors;
    const std::array<double, 3> largest{std::ldexp(dice.unit(), dice.between(-3, 8)),
                                        std::ldexp(dice.unit(), dice.between(-3, 8)),
                                        std::ldexp(dice.unit(), dice.between(-3, 8))};
    beside.all_heads = std::make_shared<const AllHeads>(
        [largest](ScaledTensor t, const StopSign&) { return largest[static_cast<std::size_t>(t)]; });
    input.tensors = std::make_shared<const Tensors>(std::move(beside));
  }
  for (Method* const m : {&e.a, &e.b})
    for (const ScaledTensor t : {ScaledTensor::Q, ScaledTensor::K, ScaledTensor::V}) {
      Method tried = *m;
      Scaling& s = tried.scaling[t];
      if (!s.is_on() || s.rule == ScaleRule::fixed || dice.one_in(2)) continue;
      s.granularity = Granularity::tensor, s.block = 0;
      if (why_not_scaled(tried, e.problem).empty()) *m = tried;
    }
  drop_impossible_accumulators(e);
}

void add_accumulators(Experiment& e, Method& m, Dice& dice) {
  static constexpr Format factors[] = {fp16, bf16, tf32, e4m3, e5m2};
  if (dice.one_in(3)) m.flush = dice.one_in(2) ? dice.between(0, 2) : dice.between(-1, 9);
  if (dice.one_in(2)) return;
  m.order = SumOrder::sequential;
  m.precision[Step::qk_step] = m.precision[Step::pv_step] = exact;
  if (&m == &e.a && dice.one_in(2)) e.a.precision[Step::input] = to_format(dice.any(factors));
  if (dice.one_in(2)) m.precision[Step::P] = to_format(input_format(e, m));
  m.accumulator.qk = any_accumulator(e, m, AttentionProduct::qk, dice);
  m.accumulator.pv = any_accumulator(e, m, AttentionProduct::pv, dice);
}

Accumulator any_accumulator(const Experiment& e, const Method& m, AttentionProduct product, Dice& dice) {
  std::vector<Accumulator> possible;
  for (std::size_t i = 0; i < accumulator_names.size(); ++i)
    if (why_no_accumulator(e, m, product, static_cast<Accumulator>(i)).empty()) possible.push_back(static_cast<Accumulator>(i));
  return dice.any(possible);
}

void drop_impossible_accumulators(Experiment& e) {
  for (Method* m : {&e.a, &e.b}) {
    if (!why_not_scaled(*m, e.problem).empty()) m->scaling = {};
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
      << " tie_beta=" << m.tie_beta << ' ' << exponential_names[m.exponential] << " degree=" << m.exp2_degree
      << " p_exponent=" << m.p_exponent << (m.kahan_l ? " kahan_l " : " ") << sum_order_names[m.order]
      << " sum_lanes=" << m.sum_lanes << (m.reverse_keys ? " reverse_keys" : "") << " qk=" << name(m.accumulator.qk)
      << " pv=" << name(m.accumulator.pv) << " flush=" << m.flush << "\n    ";
  for (const ScaledTensor t : {ScaledTensor::Q, ScaledTensor::K, ScaledTensor::V, ScaledTensor::P})
    if (m.scaling[t].is_on()) out << ' ' << scaled_tensor_names[t] << " as " << scaling_text(m.scaling[t]);
  if (m.scaling.any())
    out << (m.scaling.hadamard ? " hadamard" : "") << (m.scaling.smooth_K ? " smooth_K" : "")
        << " smooth_Q=" << m.scaling.smooth_Q << (m.scaling.smooth_V ? " smooth_V" : "")
        << " smoothed=" << static_cast<int>(m.scaling.smoothed.kind) << "\n    ";
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
      << " mask=" << mask_text(p.mask) << " rows=" << p.rows << " traced_row=" << p.traced_row << " format=" << name(e.format)
      << "\n  a: ";
  describe(out, e.a, e.format);
  out << "\n  b: ";
  describe(out, e.b, e.format);
  return out.str();
}

}  // namespace attoscope::testing
