/// The tensors that a run of a model makes, by name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/arithmetic/enum_array.h"

namespace attoscope {

/// In the order in which they are computed. Those from attention_norm to output are of a layer.
enum class ModelTensor : std::uint8_t {
  embedding,
  attention_norm,
  q,  ///< projected, with bias
  k,
  v,
  q_norm,
  k_norm,
  q_rope,  ///< as they enter attention
  k_rope,
  attention,  ///< O of all heads, as the next projection reads it
  o,
  middle,  ///< the residual stream after attention's addition
  mlp_norm,
  gate,
  up,
  gated,  ///< silu(gate) up
  down,
  output,  ///< the residual stream after the layer
  norm,    ///< of the last norm
  logits,
  logprobs  ///< log-probabilities of the n - 1 targets
};
inline constexpr std::size_t model_tensor_count = enum_count<ModelTensor>();
/// As JSON and files of `attoscope.capture` call them, the last part of a name.
inline constexpr EnumArray<ModelTensor> model_tensor_names{"embed_tokens",
                                                           "input_layernorm",
                                                           "q_proj",
                                                           "k_proj",
                                                           "v_proj",
                                                           "q_norm",
                                                           "k_norm",
                                                           "q_rope",
                                                           "k_rope",
                                                           "attn_out",
                                                           "o_proj",
                                                           "residual",
                                                           "post_attention_layernorm",
                                                           "gate_proj",
                                                           "up_proj",
                                                           "act",
                                                           "down_proj",
                                                           "output",
                                                           "norm",
                                                           "logits",
                                                           "logprobs"};
constexpr std::string_view name(ModelTensor t) { return model_tensor_names[t]; }
constexpr bool is_of_layer(ModelTensor t) { return t > ModelTensor::embedding && t < ModelTensor::norm; }

}  // namespace attoscope
