/// The arithmetic around attention: the rounding of each named step, and the presets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/arithmetic/precision.h"

namespace attoscope {

/// Steps around attention, in the order of the data.
enum class AroundStep : std::uint8_t {
  weights,         ///< every weight, embedding and bias, before anything
  square_sum,      ///< RMSNorm: the sum of squares after every addition
  normalised,      ///< x / rms, before the weight multiplies it
  norm,            ///< the norm's output
  projection,      ///< a projection's output, its bias added
  rope_position,   ///< the position
  rope_frequency,  ///< theta^(-2i/d), scaled
  rope_angle,      ///< position times frequency
  rope_table,      ///< cos and sin
  rope_product,    ///< the products of q and k with cos and sin
  rope,            ///< q and k after the rotary embedding
  attention,       ///< the output of attention as it enters the next projection
  silu,            ///< gate / (1 + exp(-gate))
  gated,           ///< silu times up
  residual,        ///< the residual stream after every addition
  logits           ///< the logits
};
inline constexpr std::array<std::string_view, 16> around_step_names{
    "weights",    "square_sum",   "normalised", "norm",      "projection", "rope_position", "rope_frequency", "rope_angle",
    "rope_table", "rope_product", "rope",       "attention", "silu",       "gated",         "residual",       "logits"};

/// Choices around attention. Every operation is one of the working type: double, or float.
struct Surroundings {
  bool in_double = true;
  std::array<Rounding, around_step_names.size()> steps{};  ///< exact: what the working type gives
  int sum_pieces = 1;  ///< sums of projections: so many chains over pieces of the inputs, added in order

  Rounding& operator[](AroundStep s) { return steps[static_cast<std::size_t>(s)]; }
  const Rounding& operator[](AroundStep s) const { return steps[static_cast<std::size_t>(s)]; }
  friend bool operator==(const Surroundings&, const Surroundings&) = default;
};

inline constexpr std::array<std::string_view, 4> around_preset_names{"exact", "fp32", "hf_bf16", "fused"};

/// The surroundings of "PRESET" or "PRESET,STEP=FORMAT,...". Throws std::invalid_argument in a sentence.
///   exact: double, nothing rounded;  fp32: float, nothing else rounded
///   hf_bf16: Hugging Face's modules in bf16, operation by operation: the norm is rounded before and after its weight, tables
///     and products of the rotary embedding are rounded, silu and its product are
///   fused: kernels that round once at their end: norm, rotary embedding and gated MLP in float, their outputs bf16
Surroundings surroundings(std::string_view text);

}  // namespace attoscope
