#include "kernels/model/surroundings.h"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>

#include "kernels/arithmetic/format.h"
#include "kernels/arithmetic/quoted.h"
#include "kernels/experiment/setting.h"
#include "kernels/experiment/text.h"

namespace attoscope {
namespace {

/// Float everywhere; the rotary tables are made from numbers of fp32.
Surroundings in_float() {
  Surroundings s;
  s.in_double = false;
  for (const AroundStep step :
       {AroundStep::rope_position, AroundStep::rope_frequency, AroundStep::rope_angle, AroundStep::rope_table})
    s[step] = to_format(fp32);
  return s;
}

Surroundings in_bf16(std::initializer_list<AroundStep> also) {
  Surroundings s = in_float();
  for (const AroundStep step : {AroundStep::weights, AroundStep::norm, AroundStep::projection, AroundStep::rope,
                                AroundStep::attention, AroundStep::gated, AroundStep::residual, AroundStep::logits})
    s[step] = to_format(bf16);
  for (const AroundStep step : also) s[step] = to_format(bf16);
  return s;
}

Surroundings preset(std::string_view name) {
  if (name == "exact") return {};
  if (name == "fp32") return in_float();
  if (name == "hf_bf16")
    return in_bf16({AroundStep::normalised, AroundStep::rope_table, AroundStep::rope_product, AroundStep::silu});
  if (name == "fused") return in_bf16({});
  throw std::invalid_argument("--around is " + in_quotes(std::string(name)) + ", expected " + listed(around_preset_names));
}

/// Sets "STEP=FORMAT".
void set_step(Surroundings& s, std::string_view text) {
  const std::size_t equals = text.find('=');
  const auto step = std::ranges::find(around_step_names, text.substr(0, equals));
  if (equals == text.npos || step == around_step_names.end())
    throw std::invalid_argument("--around has " + in_quotes(std::string(text)) + ", expected STEP=FORMAT with a step of " +
                                listed(around_step_names));
  const Rounding rounding = parse_rounding(text.substr(equals + 1));
  const bool is_format = rounding.kind == Rounding::Kind::format && !rounding.stochastic;
  if (rounding.kind != Rounding::Kind::exact && (!is_format || significand_bits(rounding.format) > 24))
    throw std::invalid_argument("--around has " + in_quotes(std::string(text)) +
                                ", expected exact or a format of at most 24 significant bits behind =");
  s.steps[static_cast<std::size_t>(step - around_step_names.begin())] = rounding;
}

}  // namespace

Surroundings surroundings(std::string_view text) {
  const auto next = [&] {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    return word;
  };
  Surroundings s = preset(next());
  while (!text.empty()) set_step(s, next());
  return s;
}

}  // namespace attoscope
