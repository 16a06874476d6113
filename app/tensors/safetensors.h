/// Headers of .safetensors files, checked as if they were written by an enemy.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "app/tensors/stored_tensor.h"

namespace attoscope {

/// The length of the header as the file's first bytes give it. Throws std::runtime_error in a sentence where they cannot be
/// right.
std::uint64_t header_bytes(const InputFile& file);

/// One tensor of a file's header.
struct ListedTensor {
  std::string name, dtype;
  std::string refusal;  ///< why its numbers cannot be read; empty: they can
  StoredTensor tensor;
};

/// Every tensor of `file`, in the order of their names, and its notes. Throws std::runtime_error with a sentence that names the
/// file, the key, the value and what was expected.
std::vector<ListedTensor> list_safetensors(const InputFile& file, std::map<std::string, std::string>& metadata);

/// Which roles a file's tensors can play, by their names.
struct TensorRoles {
  bool inputs = false;  ///< q, k, v under one of their names
  bool output = false;  ///< o, out, output, attn_out or the like, or a tensor that is the only one
};
TensorRoles tensor_roles(const InputFile& file);

/// What each tensor is: "q: [8, 1024, 64] F16", in the order of their names. Throws as `list_safetensors` does.
std::vector<std::string> tensor_texts(const InputFile& file);

/// What a kernel's output is called in files.
inline constexpr std::array<std::string_view, 8> usual_output_names{
    "o", "O", "out", "output", "attn_out", "attn_output", "attention_output", "context"};

/// The first of these tensors that `file` holds or, where `or_only`, the only one that it has. Throws as `list_safetensors`
/// does.
StoredTensor read_tensor(const InputFile& file, std::span<const std::string_view> names, bool or_only);

/// A kernel's output among the tensors of `file`. Throws as `list_safetensors` does.
StoredTensor read_output_tensor(const InputFile& file);

}  // namespace attoscope
