/// The arithmetic around attention: the rounding of each named step, and presets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/arithmetic/accumulator.h"
#include "kernels/arithmetic/precision.h"
#include "kernels/model/architecture.h"

namespace attoscope {

/// Steps around attention, in the order of the data.
enum class AroundStep : std::uint8_t {
  weights,
  norm_weight,
  square_sum,
  normalised,
  norm,
  projection,
  rope_position,
  rope_frequency,
  rope_angle,
  rope_table,
  rope_product,
  rope,
  attention,
  silu,
  gated,
  residual,
  logits,
  loss_exp,
  loss_sum,
  log_probability
};

/// A step: its name before "=" in a text, its subject in words, and the beginning of a sentence on its rounding; "": the step
/// changes no tensor.
struct AroundStepInfo {
  AroundStep step;
  std::string_view name, meaning, rounded;
};
inline constexpr std::array<AroundStepInfo, 20> around_steps{{
    {AroundStep::weights, "weights", "every weight, embedding and bias, before anything; the norms' weights are apart",
     "the weights are"},
    {AroundStep::norm_weight, "norm_weight", "the weights of RMSNorm, those of q and k too", "the weights of RMSNorm are"},
    {AroundStep::square_sum, "square_sum", "RMSNorm: the sum of squares after every addition",
     "RMSNorm: the sum of squares after every addition is"},
    {AroundStep::normalised, "normalised", "RMSNorm: x / rms, before the weight multiplies it",
     "RMSNorm: the normalised row that the weight multiplies is"},
    {AroundStep::norm, "norm", "RMSNorm's output", "RMSNorm: the output is"},
    {AroundStep::projection, "projection", "a projection's output, its bias added", "the projection's output is"},
    {AroundStep::rope_position, "rope_position", "rotary embedding: the position", "RoPE: positions are"},
    {AroundStep::rope_frequency, "rope_frequency", "rotary embedding: theta^(-2i/d), scaled", "RoPE: frequencies are"},
    {AroundStep::rope_angle, "rope_angle", "rotary embedding: position times frequency", "RoPE: angles are"},
    {AroundStep::rope_table, "rope_table", "rotary embedding: cos and sin", "RoPE: cos and sin are"},
    {AroundStep::rope_product, "rope_product", "rotary embedding: the products of q and k with cos and sin",
     "RoPE: products with cos and sin are"},
    {AroundStep::rope, "rope", "q and k after the rotary embedding", "RoPE: the turned Q and K are"},
    {AroundStep::attention, "attention", "the output of attention as it enters the next projection", "attention's output is"},
    {AroundStep::silu, "silu", "SiLU: gate / (1 + exp(-gate))", "the gated MLP's silu is"},
    {AroundStep::gated, "gated", "SiLU times up", "the gated MLP's product is"},
    {AroundStep::residual, "residual", "the residual stream after every addition", "the residual stream is"},
    {AroundStep::logits, "logits", "the logits", "the logits are"},
    {AroundStep::loss_exp, "loss_exp", "online cross entropy: exp(logit - m) of a block of the vocabulary", ""},
    {AroundStep::loss_sum, "loss_sum", "online cross entropy: the running sum l after every block", ""},
    {AroundStep::log_probability, "log_probability", "online cross entropy: logit - (m + ln l)", ""},
}};
static_assert(is_in_order(around_steps, &AroundStepInfo::step));

/// Choices around attention. Every operation is one operation of the working type, double or float.
struct Surroundings {
  bool in_double = true;
  std::array<Rounding, around_steps.size()> steps{};  ///< exact: unrounded in the working type
  Accumulator sums = Accumulator::fma;  ///< accumulator of projections and logits: fma, or tensor cores (in float)
  int sum_pieces = 1;                   ///< with fma: number of chains over pieces of the inputs, added in order
  /// RMSNorm of the residual stream sums the squares of the stream before `residual` rounds it, but scales the rounded stream.
  bool unrounded_variance = false;
  /// Rounds the factors of projections to the format of the weights: tensor cores that read numbers of fp32 (in float).
  bool rounds_factors = false;
  std::optional<RotaryPairs> pairs{};  ///< columns that the rotary embedding rotates together; none: as in the file
  int loss_block = 0;                  ///< logits in a block of the online cross entropy; 0: a whole row in double

  Rounding& operator[](AroundStep s) { return steps[static_cast<std::size_t>(s)]; }
  const Rounding& operator[](AroundStep s) const { return steps[static_cast<std::size_t>(s)]; }
  friend bool operator==(const Surroundings&, const Surroundings&) = default;
};

/// The format of the factors of projections; used only if tensor cores add them.
inline const Format& factor_format(const Surroundings& s) { return s[AroundStep::weights].format; }

inline constexpr std::array<std::string_view, 4> around_preset_names{"exact", "fp32", "hf_bf16", "fused"};

/// Parses "PRESET" or "PRESET,STEP=FORMAT,...", also "sums=h100", "pieces=8", "variance=unrounded", "pairs=halves",
/// "loss=1024". Throws std::invalid_argument in a sentence.
///   exact: double, nothing rounded;  fp32: float, nothing else rounded
///   hf_bf16: Hugging Face's modules in bf16, operation by operation: the norm is rounded before and after its weight, tables
///     and products of the rotary embedding are rounded, silu and its product are
///   fused: kernels that round once at their end: norm, rotary embedding and gated MLP in float, their outputs bf16
Surroundings surroundings(std::string_view text);

/// The text that parses to `wanted`: `preset`, then the steps and choices that differ from it. Throws as surroundings does.
std::string surroundings_text(std::string_view preset, const Surroundings& wanted);

/// A choice that is no step: its name before "=", its subject, the texts that it accepts, and some of them for a list.
struct AroundChoice {
  std::string_view name, meaning, values;
  std::array<std::string_view, 6> offered;
  std::string (*text)(const Surroundings&);
};
extern const std::array<AroundChoice, 5> around_choices;

}  // namespace attoscope
