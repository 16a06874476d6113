/// The arithmetic around attention: the rounding of each named step, and the presets.
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
  weights,         ///< every weight, embedding and bias, before anything; the norms' weights are apart
  norm_weight,     ///< weights of RMSNorm, those of q and k too
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
  logits,          ///< the logits
  loss_exp,        ///< online cross entropy: exp(logit - m) of a block of the vocabulary
  loss_sum,        ///< the same: the running sum l after every block
  log_probability  ///< the same: logit - (m + ln l)
};
inline constexpr std::array<std::string_view, 20> around_step_names{
    "weights",        "norm_weight", "square_sum", "normalised",   "norm",     "projection",     "rope_position",
    "rope_frequency", "rope_angle",  "rope_table", "rope_product", "rope",     "attention",      "silu",
    "gated",          "residual",    "logits",     "loss_exp",     "loss_sum", "log_probability"};

/// Choices around attention. Every operation is one of the working type: double, or float.
struct Surroundings {
  bool in_double = true;
  std::array<Rounding, around_step_names.size()> steps{};  ///< exact: what the working type gives
  Accumulator sums = Accumulator::fma;                     ///< of projections and logits: fma, or tensor cores (in float)
  int sum_pieces = 1;  ///< with fma: so many chains over pieces of the inputs, added in order
  /// RMSNorm of the residual stream sums the squares of the sum before `residual` rounds it; what it scales is rounded.
  bool unrounded_variance = false;
  std::optional<RotaryPairs> pairs{};  ///< columns that the rotary embedding turns together; none: the file's
  int loss_block = 0;                  ///< logits in a block of the online cross entropy; 0: a whole row in double

  Rounding& operator[](AroundStep s) { return steps[static_cast<std::size_t>(s)]; }
  const Rounding& operator[](AroundStep s) const { return steps[static_cast<std::size_t>(s)]; }
  friend bool operator==(const Surroundings&, const Surroundings&) = default;
};

/// The format of the factors of projections, read only where tensor cores add them.
inline const Format& factor_format(const Surroundings& s) { return s[AroundStep::weights].format; }

inline constexpr std::array<std::string_view, 4> around_preset_names{"exact", "fp32", "hf_bf16", "fused"};

/// The surroundings of "PRESET" or "PRESET,STEP=FORMAT,...", also "sums=h100", "pieces=8", "variance=unrounded",
/// "pairs=halves", "loss=1024". Throws std::invalid_argument in a sentence.
///   exact: double, nothing rounded;  fp32: float, nothing else rounded
///   hf_bf16: Hugging Face's modules in bf16, operation by operation: the norm is rounded before and after its weight, tables
///     and products of the rotary embedding are rounded, silu and its product are
///   fused: kernels that round once at their end: norm, rotary embedding and gated MLP in float, their outputs bf16
Surroundings surroundings(std::string_view text);

/// Choices that are no step, as typed before "=", and the texts that each takes.
struct AroundChoice {
  std::string_view name, values;
};
inline constexpr std::array<AroundChoice, 5> around_choices{{{"sums", "fma or a GPU whose tensor cores add"},
                                                             {"pieces", "1 to 64"},
                                                             {"variance", "rounded or unrounded"},
                                                             {"pairs", "halves or neighbours"},
                                                             {"loss", "exact or the logits in a block"}}};

}  // namespace attoscope
