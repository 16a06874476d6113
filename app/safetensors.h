/// Headers of .safetensors files, checked as if they were written by an enemy.
#pragma once

#include <array>
#include <map>
#include <string>

#include "app/stored_tensor.h"

namespace attoscope {

/// Q, K, V and the notes of a .safetensors file.
struct Safetensors {
  std::array<StoredTensor, 3> qkv;  ///< q, k, v
  std::map<std::string, std::string> metadata;
};

/// Reads the header of `file`. Tensors are called q, k, v or Q, K, V or query, key, value; others are checked and skipped.
/// Throws std::runtime_error with a sentence that names the file, the key, the value and what was expected.
Safetensors read_safetensors(const InputFile& file);

}  // namespace attoscope
