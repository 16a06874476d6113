#include "kernels/experiment/accumulators.h"

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/text.h"

namespace attoscope {
namespace {

Format format_after(const Rounding& r, const Format& otherwise, const Format& main) {
  return r.kind == Rounding::Kind::exact ? otherwise : format_of(r, main);
}

std::string why_no_sums(const Experiment& e, const Method& m, AttentionProduct product, Accumulator accumulator) {
  const Step step = product == AttentionProduct::qk ? Step::qk_step : Step::pv_step;
  const std::string sums(name(accumulator));
  if (works_in_double(e)) return sums + " adds in fp32: formats of more than 24 bits, anywhere in the experiment, need fma";
  if (m.order != SumOrder::sequential)
    return sums + " adds in its own order, and order is " + std::string(sum_order_names[static_cast<std::size_t>(m.order)]) +
           ", expected sequential";
  if (m.precision[step] != exact)
    return sums + " rounds its sums by itself, and " + std::string(name(step)) + " is " + rounding_text(m.precision[step]) +
           ", expected exact";
  return "";
}

std::string why_no_factors(const ProductFactors& f, AttentionProduct product, Accumulator accumulator) {
  const std::string gpu(name(gpu_of(accumulator)));
  if (product == AttentionProduct::pv && f.b == fp32 && f.a != fp32)
    return "P is left in fp32, which " + gpu + " does not multiply: round P as V, to " + name(f.a);
  if (f.a != f.b) return "P is " + name(f.b) + " and V is " + name(f.a) + ": a tensor core multiplies numbers of one format";
  return why_no_tensor_core(gpu_of(accumulator), f.a, sums_of(accumulator));
}

}  // namespace

ProductFactors factors_of(const Method& m, AttentionProduct product, const Format& input, const Format& main) {
  if (product == AttentionProduct::qk) return {input, input};
  return {input, format_after(m.precision[Step::P], fp32, main)};
}

Format input_format(const Experiment& e, const Method& m) {
  const Format shared = format_after(e.a.precision[Step::input], fp32, e.format);
  return format_after(m.precision[Step::input], shared, e.format);
}

std::optional<TensorCoreRule> tensor_core_rule_of(const Experiment& e, const Method& m, AttentionProduct product) {
  const Accumulator accumulator = accumulator_of(m, product);
  if (!is_emulated(m.algorithm) || !is_tensor_core(accumulator)) return {};
  return tensor_core_rule(gpu_of(accumulator), factors_of(m, product, input_format(e, m), e.format).a, sums_of(accumulator));
}

std::string why_no_accumulator(const Experiment& e, const Method& m, AttentionProduct product, Accumulator accumulator) {
  if (accumulator == Accumulator::fma || !is_emulated(m.algorithm)) return "";
  if (std::string why = why_no_sums(e, m, product, accumulator); !why.empty()) return why;
  if (!is_tensor_core(accumulator)) return "";
  return why_no_factors(factors_of(m, product, input_format(e, m), e.format), product, accumulator);
}

}  // namespace attoscope
