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

/// Float everywhere, with rotary tables made from numbers of fp32.
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
  for (const AroundStep step :
       {AroundStep::weights, AroundStep::norm_weight, AroundStep::norm, AroundStep::projection, AroundStep::rope,
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

[[noreturn]] void refuse_around(std::string_view text, const std::string& expected) {
  throw std::invalid_argument("--around has " + in_quotes(std::string(text)) + ", expected " + expected);
}

/// A whole number from `least` to `most` after the "=".
int count_of(std::string_view text, std::string_view value, int least, int most) {
  const std::optional<int> x = to_number<int>(value);
  if (!x || *x < least || *x > most) refuse_around(text, std::to_string(least) + " to " + std::to_string(most) + " behind =");
  return *x;
}

/// Sets "CHOICE=VALUE"; returns false if `name` is no choice.
bool set_choice(Surroundings& s, std::string_view text, std::string_view name, std::string_view value) {
  constexpr int most_pieces = 64, longest_loss_block = 1 << 20;
  const auto is = [&](std::string_view x) { return value == x; };
  if (name == "sums")
    s.sums = parse_accumulator(value);
  else if (name == "pieces")
    s.sum_pieces = count_of(text, value, 1, most_pieces);
  else if (name == "variance" && (is("rounded") || is("unrounded")))
    s.unrounded_variance = is("unrounded");
  else if (name == "pairs" && (is("file") || is("halves") || is("neighbours")))
    s.pairs = is("file") ? std::nullopt : std::optional(is("halves") ? RotaryPairs::halves : RotaryPairs::neighbours);
  else if (name == "loss")
    s.loss_block = is("exact") ? 0 : count_of(text, value, 1, longest_loss_block);
  else if (const auto known = std::ranges::find(around_choices, name, &AroundChoice::name); known != around_choices.end())
    refuse_around(text, std::string(known->values) + " behind =");
  else
    return false;
  return true;
}

/// Sets "STEP=FORMAT" or "CHOICE=VALUE".
void set_step(Surroundings& s, std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (equals != text.npos && set_choice(s, text, name, text.substr(equals + 1))) return;
  const auto* const step = std::ranges::find(around_steps, name, &AroundStepInfo::name);
  if (equals == text.npos || step == around_steps.end())
    refuse_around(text, "STEP=FORMAT with a step of " + listed(around_steps, " or ", &AroundStepInfo::name) +
                            ", or a choice of sums, pieces, variance, pairs or loss");
  const Rounding rounding = parse_rounding(text.substr(equals + 1));
  const bool is_format = rounding.kind == Rounding::Kind::format && !rounding.stochastic;
  if (rounding.kind != Rounding::Kind::exact && (!is_format || significand_bits(rounding.format) > 24))
    refuse_around(text, "exact or a format of at most 24 significant bits behind =");
  s[step->step] = rounding;
  if (name == "weights") s[AroundStep::norm_weight] = rounding;
}

/// Throws if tensor cores cannot add the projections, or if steps of the loss are rounded without the online recurrence.
void check_choices(const Surroundings& s) {
  for (const AroundStep step : {AroundStep::loss_exp, AroundStep::loss_sum, AroundStep::log_probability})
    if (s.loss_block == 0 && s[step] != exact)
      refuse_around(around_steps[static_cast<std::size_t>(step)].name,
                    "loss=BLOCK beside it: a loss of whole rows is not rounded");
  if (s.sums == Accumulator::fma) return;
  const std::string text = "sums=" + std::string(name(s.sums));
  if (!is_tensor_core(s.sums)) refuse_around(text, "fma or a GPU, such as h100, behind =");
  if (s.in_double) refuse_around(text, "fp32, hf_bf16 or fused in front of it: tensor cores have no sums in fp64");
  if (s.sum_pieces != 1) refuse_around(text, "no pieces beside it: tensor cores have an order of their own");
  for (const AroundStep step : {AroundStep::norm, AroundStep::attention, AroundStep::gated})
    if (s[step].kind != Rounding::Kind::format || s[step] != s[AroundStep::weights])
      refuse_around(text, "one format of weights, norm, attention and gated, the factors of a tensor core");
  const std::string why = why_no_tensor_core(gpu_of(s.sums), factor_format(s), sums_of(s.sums));
  if (!why.empty()) refuse_around(text, "another GPU or format: " + why);
}

}  // namespace

constexpr std::array<AroundChoice, 5> around_choices{
    {{"sums",
      "sums of projections and logits",
      "fma or a GPU whose tensor cores add",
      {"fma", "a100", "h100", "b200"},
      [](const Surroundings& s) { return std::string(name(s.sums)); }},
     {"pieces",
      "chains of fma over pieces of the inputs, added in order",
      "1 to 64",
      {"1", "2", "4", "8", "16", "32"},
      [](const Surroundings& s) { return std::to_string(s.sum_pieces); }},
     {"variance",
      "RMSNorm sums the squares of the residual stream before or after its rounding",
      "rounded or unrounded",
      {"rounded", "unrounded"},
      [](const Surroundings& s) { return std::string(s.unrounded_variance ? "unrounded" : "rounded"); }},
     {"pairs",
      "columns that the rotary embedding turns together",
      "file, halves or neighbours",
      {"file", "halves", "neighbours"},
      [](const Surroundings& s) {
        return std::string(!s.pairs ? "file" : s.pairs == RotaryPairs::halves ? "halves" : "neighbours");
      }},
     {"loss",
      "logits in a block of the online cross entropy; exact: a whole row in double",
      "exact or the logits in a block",
      {"exact", "512", "1024", "4096", "16384", "65536"},
      [](const Surroundings& s) { return s.loss_block == 0 ? "exact" : std::to_string(s.loss_block); }}}};

Surroundings surroundings(std::string_view text) {
  const auto next = [&] {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    return word;
  };
  Surroundings s = preset(next());
  while (!text.empty()) set_step(s, next());
  check_choices(s);
  return s;
}

std::string surroundings_text(std::string_view preset_name, const Surroundings& wanted) {
  std::string text(preset_name);
  Surroundings s = preset(preset_name);
  const auto add = [&](std::string_view name, const std::string& value) {
    const std::string change = std::string(name) + "=" + value;
    set_step(s, change);
    text += "," + change;
  };
  for (std::size_t i = 0; i < around_steps.size(); ++i)
    if (wanted.steps[i] != s.steps[i]) add(around_steps[i].name, rounding_text(wanted.steps[i]));
  for (const AroundChoice& c : around_choices)
    if (c.text(wanted) != c.text(s)) add(c.name, c.text(wanted));
  return text;
}

}  // namespace attoscope
