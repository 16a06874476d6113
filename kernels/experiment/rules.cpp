#include "kernels/experiment/rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/settings.h"

namespace attoscope {
namespace {

/// The policy with the method's roundings: one of its own family first, since base_all and all_tile round alike.
const Policy* named_policy(const Method& m) {
  for (const bool in_family : {true, false})
    for (const Policy& p : policies())
      if (p.precision == m.precision && (!in_family || same_family(p.algorithm, m.algorithm))) return &p;
  return nullptr;
}

bool is_stochastic(const Rounding& r) { return r.stochastic && r.kind != Rounding::Kind::exact; }

/// True if a method, or its backward pass, rounds a step at random.
bool has_stochastic_step(const auto& m) { return std::ranges::any_of(m.precision.steps, is_stochastic); }

/// True if the method draws random bits or signs.
bool draws(const Method& m) {
  return has_stochastic_step(m) || m.scaling.hadamard || (m.algorithm == Algorithm::split_kv && is_stochastic(m.partial));
}

}  // namespace

Method with_main_format(Method m, const Format& before, const Format& after) {
  if (m.tau == usual_tau(before)) m.tau = usual_tau(after);
  return m;
}

Experiment with_format(Experiment e, const Format& format) {
  for (Method* m : {&e.a, &e.b}) *m = with_main_format(*m, e.format, format);
  e.format = format;
  return e;
}

const Policy& usual_policy(Algorithm algorithm) { return policy(has_tiles(algorithm) ? "hw" : "base_eager"); }

Method with_algorithm(Method m, Algorithm algorithm) {
  const Policy* const had = named_policy(m);
  const bool own = had == nullptr || (is_emulated(m.algorithm) && !same_family(had->algorithm, m.algorithm));
  m.algorithm = algorithm;
  if (own || !is_emulated(algorithm) || same_family(had->algorithm, algorithm)) return m;
  if (!had->counterpart.empty()) m.precision = policy(had->counterpart).precision;
  return m;
}

Method with_policy(Method m, const Policy& policy) {
  if (!same_family(policy.algorithm, m.algorithm)) m.algorithm = policy.algorithm;
  m.precision = policy.precision;
  return m;
}

Experiment with_baseline(Experiment e, const Policy& policy) {
  const Experiment before = e;
  e.b.algorithm = policy.algorithm;
  e.b.precision = policy.precision;
  return with_gradients_in_step(before, std::move(e));
}

GradMethod usual_gradient(const Method& forward, const Problem& p) {
  return grad_method(usual_grad_kernel(forward), p.d, p.mask);
}

Experiment with_backward(Experiment e) {
  if (std::exchange(e.backward.on, true)) return e;
  if (e.backward.a == GradMethod{}) e.backward.a = usual_gradient(e.a, e.problem);
  if (e.backward.b == GradMethod{}) e.backward.b = usual_gradient(e.b, e.problem);
  return e;
}

Experiment with_gradients_in_step(const Experiment& before, Experiment after) {
  if (after.backward == Backward{}) return after;
  const auto follow = [&](const Method& was, const Method& is, const GradMethod& had, GradMethod& gradient) {
    if (gradient == had && had == usual_gradient(was, before.problem)) gradient = usual_gradient(is, after.problem);
  };
  follow(before.a, after.a, before.backward.a, after.backward.a);
  follow(before.b, after.b, before.backward.b, after.backward.b);
  return after;
}

Method with_usual_options(const Method& m, const Format& main) {
  return {
      .algorithm = m.algorithm, .block_q = m.block_q, .block_k = m.block_k, .tau = usual_tau(main), .precision = m.precision};
}

Method with_tiles(Method m, const TileSizes& tiles) {
  m.block_q = tiles.block_q;
  m.block_k = tiles.block_k;
  return m;
}

TileSizes tiles_for(std::span<const TilesUpTo> rows, int d, bool is_masked) {
  const auto found = std::ranges::find_if(rows, [d](const TilesUpTo& row) { return d <= row.most_d; });
  const TilesUpTo& row = found == rows.end() ? rows.back() : *found;
  return is_masked ? row.masked : row.plain;
}

Experiment with_tiles(Experiment e, const TileSizes& tiles) {
  return with_block_k(with_block_q(std::move(e), tiles.block_q), tiles.block_k);
}

Experiment with_block_q(Experiment e, int block_q) {
  e.a.block_q = e.b.block_q = block_q;
  return e;
}

Experiment with_block_k(Experiment e, int block_k) {
  e.a.block_k = e.b.block_k = block_k;
  return e;
}

Experiment with_swapped_tiles(Experiment e) {
  const TileSizes swapped{e.a.block_k, e.a.block_q};
  return with_tiles(std::move(e), swapped);
}

TileSizes tiles_for_memory(double on_chip_elements, int d) {
  const double keys = std::clamp(std::ceil(on_chip_elements / (4.0 * d)), 1.0, double{max_n});
  return {std::min(static_cast<int>(keys), d), static_cast<int>(keys)};
}

Problem with_input(Problem p, Input input) {
  const bool same = input.kind == InputKind::tensors && input.file == p.input.file && input.index == p.input.index;
  if (same && !input.tensors) {
    input.tensors = p.input.tensors;
    input.digest = p.input.digest;
    input.parts = p.input.parts;
  }
  if (!has_value(input.kind)) input.value = p.input.value;
  p.input = std::move(input);
  return p;
}

Problem with_head(Problem p, int index) {
  if (p.input.index == index) return p;
  p.input.index = index;
  p.input.digest = 0;
  p.input.parts = {};
  p.input.tensors.reset();
  return p;
}

KernelOutput with_head(KernelOutput output, int index) {
  if (output.index == index) return output;
  output.index = index;
  output.digest = 0;
  output.values.reset();
  return output;
}

Format format_of_output(const KernelOutput& o, const Format& main) {
  if (main.exponent_bits + main.mantissa_bits < 8) return main;
  if (o.type == "F16") return fp16;
  if (o.type == "BF16") return bf16;
  const auto fits = [&](const Format& f) {
    return std::ranges::all_of(*o.values, [&](double x) { return !std::isfinite(x) || round(f, x) == x; });
  };
  if (o.values)
    for (const Format& f : {main, bf16, fp16})
      if (fits(f)) return f;
  return o.type == "F32" ? fp32 : main;
}

Problem with_shape(Problem p, const AttentionShape& s) {
  p.n = s.n;
  p.n_k = s.n_k == s.n ? 0 : s.n_k;
  p.d = s.d;
  p.d_v = s.d_v == s.d ? 0 : s.d_v;
  return p;
}

Problem fitted(Problem p, const AttentionShape& given) {
  const bool counted_apart = given.n != given.n_k || p.n_k > 0;
  AttentionShape s = given;
  s.n = std::min(p.n, given.n);
  s.n_k = counted_apart ? (p.n_k > 0 ? std::min(p.n_k, given.n_k) : given.n_k) : s.n;
  return with_shape(p, s);
}

LoadedPlace loaded_place(const Experiment& e) {
  if (e.a.algorithm == Algorithm::loaded) return LoadedPlace::a;
  return e.b.algorithm == Algorithm::loaded ? LoadedPlace::b : LoadedPlace::nowhere;
}

bool has_hardware(const Experiment& e) { return e.a.algorithm == Algorithm::hardware || e.b.algorithm == Algorithm::hardware; }

bool has_loaded(const Experiment& e) { return loaded_place(e) != LoadedPlace::nowhere; }

bool depends_on_other_heads(const Experiment& e) {
  const auto over_all = [](const Scaling& s) {
    return s.is_on() && s.granularity == Granularity::tensor && s.rule != ScaleRule::fixed;
  };
  return e.problem.input.kind == InputKind::tensors &&
         std::ranges::any_of(std::array{&e.a.scaling, &e.b.scaling},
                             [&](const Scalings* s) { return over_all(s->Q) || over_all(s->K) || over_all(s->V); });
}

Experiment exchanged(Experiment e) {
  std::swap(e.a, e.b);
  std::swap(e.backward.a, e.backward.b);
  return e;
}
Experiment with_loaded(Experiment e, LoadedPlace place) {
  const Experiment usual = default_experiment();
  if (e.a.algorithm == Algorithm::loaded) e.a = with_algorithm(e.a, usual.a.algorithm);
  if (e.b.algorithm == Algorithm::loaded) e.b = with_algorithm(e.b, usual.b.algorithm);
  if (place == LoadedPlace::a) e.a = with_algorithm(e.a, Algorithm::loaded);
  if (place == LoadedPlace::b) e.b = with_algorithm(e.b, Algorithm::loaded);
  return e;
}

Experiment following(const Experiment& before, const Experiment& after, std::string_view path, std::string_view value) {
  if (path == "format") return with_format(before, after.format);
  if (path == "backward.on") return after.backward.on ? with_backward(before) : after;
  if (is_of_backward(path) && !before.backward.on) {
    Experiment on = with_backward(before);
    set(*find(settings(on), path), value);
    return on;
  }
  Experiment e = after;
  if (path == "problem.input.index") e.problem = with_head(before.problem, after.problem.input.index);
  if (path == "a.algorithm") e.a = with_algorithm(before.a, after.a.algorithm);
  if (path == "b.algorithm") e.b = with_algorithm(before.b, after.b.algorithm);
  if (path == "a.policy") e.a = with_policy(before.a, policy(value));
  if (path == "b.policy") e.b = with_policy(before.b, policy(value));
  return with_gradients_in_step(before, std::move(e));
}

bool depends_on_seed(const Experiment& e) {
  const Backward& b = e.backward;
  return e.problem.input.kind != InputKind::tensors || draws(e.a) || draws(e.b) ||
         (b.on && (b.d_o == OutputGradient::normal || has_stochastic_step(b.a) || has_stochastic_step(b.b)));
}

}  // namespace attoscope
