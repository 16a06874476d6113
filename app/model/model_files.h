/// Reads models: from a folder of Hugging Face, from a .gguf of llama.cpp, or with random weights.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/tensors/readers.h"
#include "kernels/model/architecture.h"

namespace attoscope::app {

/// Texts that name a checkpoint, for messages and help.
inline constexpr std::string_view checkpoint_specs =
    "a folder with config.json and .safetensors (llama, mistral, qwen2 or qwen3), FILE.gguf, or random:SEED, a small model "
    "with random weights";

/// The seed of "random:SEED"; none: the text names no random weights or tokens. Throws std::runtime_error with one sentence if
/// SEED is no seed.
std::optional<std::uint64_t> random_seed(const std::string& name);

/// Reads a model, or makes `random_model`. Throws std::runtime_error with one sentence that names the file, the key or tensor,
/// its value and what was expected, also if memory does not suffice.
LanguageModel read_language_model(const std::string& path);

/// The files that a model and its tokenizer are read from if the checkpoint is a folder; empty if it is a file.
std::vector<std::string> files_of_checkpoint(const std::string& folder);

/// The keys beside a checkpoint's tensors.
struct ModelConfig {
  std::string kind;  ///< "qwen3"; of random weights "not a trained model"
  Architecture architecture{};
  bool tied = false;            ///< the embedding is the output matrix, even if the checkpoint has one
  bool attention_bias = false;  ///< q, k, v and o must have biases
};
/// Reads the keys alone. Throws as read_language_model.
ModelConfig read_model_config(const std::string& path);
/// Reads the keys in a folder's config.json, or in the metadata of a .gguf. Throws as read_language_model.
ModelConfig config_of_folder(const std::string& folder);
ModelConfig config_of_gguf(const TensorSet& set, const std::string& path);

}  // namespace attoscope::app
