/// A language model of the Llama layout: its sizes, its rotary embedding and its weights.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/arithmetic/enum_array.h"

namespace attoscope {

/// Columns of a head that the rotary embedding rotates together: i and i + d/2 (files of Hugging Face), or 2i and 2i + 1
/// (Meta's files, and GGUF of the architecture llama).
enum class RotaryPairs : std::uint8_t { halves, neighbours };

/// A change of the rotary frequencies for long contexts, as Hugging Face's `rope_type`.
enum class RopeScaling : std::uint8_t { none, linear, dynamic, yarn, longrope, llama3 };
inline constexpr EnumArray<RopeScaling> rope_scaling_names{"default", "linear", "dynamic", "yarn", "longrope", "llama3"};

/// The rotary embedding (arXiv 2104.09864).
struct Rope {
  double theta = 10000;
  RotaryPairs pairs = RotaryPairs::halves;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1;
  double original_length = 0;                       ///< tokens of the context before scaling
  double longest = 0;                               ///< tokens of the context after it (max_position_embeddings)
  double low_factor = 1, high_factor = 4;           ///< of llama3
  double beta_fast = 32, beta_slow = 1;             ///< of yarn
  bool truncates = true;                            ///< yarn: the bounds of its ramp are rounded to whole numbers
  double attention_factor = 0;                      ///< of yarn and longrope: factor of cos and sin; 0: derived from `factor`
  double mscale = 0, mscale_all = 0;                ///< of yarn; 0: not given
  std::vector<double> short_factors, long_factors;  ///< of longrope, one for each pair
  std::vector<double> divisors;                     ///< the frequencies are divided by these, one for each pair; empty: not
  int first_position = 0;                           ///< position of the first token
};

/// Sizes and options of a model.
struct Architecture {
  int vocabulary = 0, width = 0, layers = 0;
  int heads = 0, kv_heads = 0, head_dim = 0;
  int inner = 0;          ///< columns between the MLP's projections
  double epsilon = 1e-6;  ///< epsilon of the norms
  Rope rope{};
};

/// A matrix of weights, row-major [rows, cols]; float holds every F32, F16 and BF16 number of a file exactly. A vector has one
/// row.
struct WeightMatrix {
  int rows = 0, cols = 0;
  std::vector<float> values;
  bool empty() const { return values.empty(); }
};

/// The tensors of a layer, projections [outputs, inputs].
enum class LayerTensor : std::uint8_t {
  attention_norm,
  q,
  k,
  v,
  q_bias,
  k_bias,
  v_bias,
  q_norm,
  k_norm,
  o,
  o_bias,
  mlp_norm,
  gate,
  up,
  down
};
inline constexpr std::size_t layer_tensor_count = enum_count<LayerTensor>();
using LayerWeights = std::array<WeightMatrix, layer_tensor_count>;
inline const WeightMatrix& of(const LayerWeights& layer, LayerTensor t) { return layer[static_cast<std::size_t>(t)]; }

/// The tensors that a run of a model computes, in order of computation. Those from attention_norm to output belong to a layer.
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
/// Names in JSON and in files of `attoscope.capture`, where each is the last part of a tensor's name.
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

/// A model as it was read.
struct LanguageModel {
  Architecture architecture{};
  WeightMatrix embedding;  ///< [vocabulary, width]
  std::vector<LayerWeights> layers;
  WeightMatrix norm;
  WeightMatrix head;  ///< [vocabulary, width]; empty: the embedding is used (tied)

  const WeightMatrix& output() const { return head.empty() ? embedding : head; }
};

/// The number of weights.
std::int64_t parameters(const LanguageModel& model);

/// The shape [rows, cols] of a layer's tensor; see `is_optional` for tensors that a model may lack.
std::array<int, 2> shape_of(const Architecture& a, LayerTensor t);
/// True for biases and for the norms of q and k.
bool is_optional(LayerTensor t);

/// Throws std::invalid_argument in half a sentence ("has 9 heads over 4, expected a multiple") if sizes do not fit together.
void validate(const Architecture& a);

/// Four layers of width 64 with 4 query heads and 2 key/value heads, and a vocabulary of 256; weights are nearly normal, with
/// variance 2.25 / inputs in projections.
LanguageModel random_model(std::uint64_t seed);

/// n random tokens below `vocabulary`.
std::vector<int> random_tokens(std::uint64_t seed, int n, int vocabulary);

}  // namespace attoscope
