/// Names of tensors in a captured run of a model.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/model/architecture.h"

namespace attoscope::app {

/// The part of a model that a tensor's name denotes.
struct RunName {
  /// `activation`: silu(gate) up after one projection for both (vLLM); silu(gate) after two projections (Hugging Face), which
  /// is no ModelTensor.
  enum class Part : std::uint8_t { tensor, qkv, gate_up, activation, tokens };
  Part part = Part::tensor;
  ModelTensor tensor = ModelTensor::embedding;  ///< of Part::tensor
  int layer = -1;
  int call = 0;           ///< index of the call of the model
  bool is_state = false;  ///< one of Hugging Face's hidden_states, the last of which is normed
  int piece = 0;          ///< index in an output that is a tuple: (hidden, residual)
};

/// Parses names of `attoscope.capture`, Hugging Face, vLLM, Megatron, Meta and llama.cpp: "model.layers.7.self_attn.o_proj",
/// "layer:9, attn_out". Returns false for other names.
bool read_run_name(const std::string& name, RunName& found);

}  // namespace attoscope::app
