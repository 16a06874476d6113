#include "kernels/experiment/accumulators.h"

#include <array>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/text.h"

namespace attoscope {
namespace {

Format format_after(const Rounding& r, const Format& otherwise, const Format& main) {
  return r.kind == Rounding::Kind::exact ? otherwise : format_of(r, main);
}

/// The reason why `accumulator` cannot make sums whose `step` has this rounding; `other`: a further reason, or empty.
std::string why_no_sums(const Experiment& e, Accumulator accumulator, const std::string& other, std::string_view step,
                        const Rounding& rounding) {
  const std::string sums(name(accumulator));
  if (works_in_double(e))
    return sums + (is_tensor_core(accumulator) ? " adds in" : " rounds to") +
           " fp32: formats of more than 24 bits, anywhere in the experiment, need fma";
  if (!other.empty() || rounding == exact) return other;
  return sums + " rounds its sums by itself, and " + std::string(step) + " is " + rounding_text(rounding) + ", expected exact";
}

/// Format in which a product reads tensor t under these scalings; `given` is its format without them.
Format operand_format(const Scalings& all, ScaledTensor t, const Format& given, const Format& main) {
  const Scaling& s = all[t];
  if (s.is_on() && is_factored(s, t)) return s.element.kind == Element::Kind::format ? s.element.format : fp32;
  if (s.is_on()) return format_after(s.operand, fp32, main);
  const bool changed =
      t == ScaledTensor::V ? all.smooth_V : all.hadamard || (t == ScaledTensor::K ? all.smooth_K : all.smooth_Q > 0);
  return changed ? format_after(all.smoothed, fp32, main) : given;
}

/// Format in which P.V reads P.
Format format_of_P(const Method& m, const Format& main) {
  const Scaling& P = m.scaling.P;
  if (!P.is_on()) return format_after(m.precision[Step::P], fp32, main);
  return P.granularity == Granularity::head ? P.element.format : fp32;
}

/// The formats of both factors in words: "dO is bf16 and V is fp32".
std::string factors_text(GradProduct product, const ProductFactors& f) {
  constexpr std::array<std::array<std::string_view, 2>, 4> called{{{"V", "dO"}, {"dO", "P"}, {"Q", "dS"}, {"K", "dS"}}};
  const auto& [a, b] = called[static_cast<std::size_t>(product)];
  return std::string(b) + " is " + attoscope::name(f.b) + " and " + std::string(a) + " is " + attoscope::name(f.a);
}

GradStep sum_step(GradProduct p) {
  constexpr std::array steps{GradStep::dp_step, GradStep::dv_step, GradStep::dk_step, GradStep::dq_step};
  return steps[static_cast<std::size_t>(p)];
}

/// "K is bf16", or "K is fp32 (stored as int8)".
std::string factor_text(const Method& m, ScaledTensor t, const Format& f) {
  const Scaling& s = m.scaling[t];
  const std::string format = attoscope::name(f), stored = s.is_on() ? attoscope::name(s.element) : format;
  return std::string(scaled_tensor_names[t]) + " is " + format + (stored == format ? "" : " (stored as " + stored + ")");
}

std::string why_no_factors(const Method& m, const ProductFactors& f, AttentionProduct product, Accumulator accumulator) {
  const bool of_pv = product == AttentionProduct::pv;
  const std::string a = factor_text(m, of_pv ? ScaledTensor::V : ScaledTensor::K, f.a),
                    b = factor_text(m, of_pv ? ScaledTensor::P : ScaledTensor::Q, f.b);
  const std::string gpu(name(gpu_of(accumulator)));
  if (of_pv && f.b == fp32 && f.a != fp32)
    return "P is left in fp32, which " + gpu + " does not multiply: round P as V, to " + name(f.a);
  if (f.a != f.b) return b + " and " + a + ": a tensor core multiplies numbers of one format";
  return why_no_tensor_core(gpu_of(accumulator), f.a, sums_of(accumulator));
}

}  // namespace

ProductFactors factors_of(const Method& m, AttentionProduct product, const Format& input, const Format& main) {
  const auto stored = [&](ScaledTensor t) { return operand_format(m.scaling, t, input, main); };
  if (product == AttentionProduct::qk) return {stored(ScaledTensor::K), stored(ScaledTensor::Q)};
  return {stored(ScaledTensor::V), format_of_P(m, main)};
}

Format input_format(const Experiment& e, const Method& m) {
  const Format shared = format_after(e.a.precision[Step::input], fp32, e.format);
  return format_after(m.precision[Step::input], shared, e.format);
}

std::optional<TensorCoreRule> tensor_core_rule_of(const Experiment& e, const Method& m, AttentionProduct product) {
  const Accumulator accumulator = m.accumulator[product];
  if (!is_emulated(m.algorithm) || !is_tensor_core(accumulator)) return {};
  return tensor_core_rule(gpu_of(accumulator), factors_of(m, product, input_format(e, m), e.format).a, sums_of(accumulator));
}

std::string why_no_accumulator(const Experiment& e, const Method& m, AttentionProduct product, Accumulator accumulator) {
  if (accumulator == Accumulator::fma || !is_emulated(m.algorithm)) return "";
  const Step step = product == AttentionProduct::qk ? Step::qk_step : Step::pv_step;
  std::string order;
  if (m.order != SumOrder::sequential)
    order.append(name(accumulator))
        .append(" adds in its own order, and order is ")
        .append(sum_order_names[m.order])
        .append(", expected sequential");
  if (std::string why = why_no_sums(e, accumulator, order, name(step), m.precision[step]); !why.empty()) return why;
  if (!is_tensor_core(accumulator)) return "";
  return why_no_factors(m, factors_of(m, product, input_format(e, m), e.format), product, accumulator);
}

ProductFactors factors_of(const Experiment& e, const Method& m, const GradMethod& g, GradProduct product) {
  using enum GradStep;
  const Format input = input_format(e, m);
  const auto stored = [&](ScaledTensor t) {
    const bool scaled = m.scaling[t].is_on() || operand_format(m.scaling, t, input, e.format) != input;
    return scaled ? fp32 : input;
  };
  const auto made = [&](const Scaling& s, const Format& f) { return s.is_on() ? fp32 : f; };
  const auto rounded = [&](GradStep s, const Format& f) { return format_after(g.precision[s], f, e.format); };
  const Format dO = made(g.scaling.dO, input), ds = made(g.scaling.dS, rounded(dS, fp32));
  switch (product) {
    case GradProduct::dP:
      return {stored(ScaledTensor::V), dO};
    case GradProduct::dV:
      return {dO, made(g.scaling.P, rounded(P, fp32))};
    case GradProduct::dK:
      return {stored(ScaledTensor::Q), made(g.scaling.dS_of_dK, ds)};
    case GradProduct::dQ:
      return {g.scale_at == ScaleAt::K ? rounded(scaled_K, fp32) : stored(ScaledTensor::K), ds};
  }
  return {};
}

std::optional<TensorCoreRule> tensor_core_rule_of(const Experiment& e, const Method& m, const GradMethod& g,
                                                  GradProduct product) {
  const Accumulator accumulator = g.accumulator[product];
  if (!is_tensor_core(accumulator)) return {};
  return tensor_core_rule(gpu_of(accumulator), factors_of(e, m, g, product).a, sums_of(accumulator));
}

std::string why_no_accumulator(const Experiment& e, const Method& m, const GradMethod& g, GradProduct product) {
  const Accumulator accumulator = g.accumulator[product];
  if (accumulator == Accumulator::fma) return "";
  const GradStep step = sum_step(product);
  const std::string f64 = is_tensor_core(accumulator) ? "" : "the backward pass adds by fma or as a GPU's tensor cores";
  if (std::string why = why_no_sums(e, accumulator, f64, name(step), g.precision[step]); !why.empty()) return why;
  const ProductFactors f = factors_of(e, m, g, product);
  if (f.a != f.b) return factors_text(product, f) + ": a tensor core multiplies numbers of one format";
  return why_no_tensor_core(gpu_of(accumulator), f.a, sums_of(accumulator));
}

}  // namespace attoscope
