/// Reads models from files: a folder of Hugging Face, or a .gguf of llama.cpp.
#pragma once

#include <string>
#include <vector>

#include "app/tensors/readers.h"
#include "kernels/model/architecture.h"

namespace attoscope::app {

/// Texts that name a checkpoint, for messages and help.
inline constexpr std::string_view checkpoint_specs =
    "a folder with config.json and .safetensors (llama, mistral, qwen2 or qwen3), or FILE.gguf";

/// Reads a model. Throws std::runtime_error with one sentence that names the file, the key or tensor, its value and what was
/// expected, also if memory does not suffice.
LanguageModel read_language_model(const std::string& path);

/// The files that a model and its tokenizer are read from if the checkpoint is a folder; empty if it is a file.
std::vector<std::string> files_of_checkpoint(const std::string& folder);

/// The architecture of a folder's config.json, and of the metadata of a .gguf. `kind` receives "qwen3".
Architecture read_config(const std::string& file, std::string& kind);
Architecture gguf_architecture(const TensorSet& set, const std::string& path, std::string& kind);

}  // namespace attoscope::app
