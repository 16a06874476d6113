/// Headers of .safetensors files, checked against malicious content.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "app/tensors/stored_tensor.h"

namespace attoscope {

/// Length of the header in the file's first bytes. Throws std::runtime_error with one sentence if it is impossible.
std::uint64_t header_bytes(const InputFile& file);

/// A tensor in a file's header.
struct ListedTensor {
  std::string name, dtype;
  std::string refusal;  ///< reason why its numbers cannot be read; empty: they can
  StoredTensor tensor;
};

/// All tensors of `file`, sorted by name, and its metadata. Throws std::runtime_error with one sentence that names the file,
/// the key, the value and what was expected.
std::vector<ListedTensor> list_safetensors(const InputFile& file, std::map<std::string, std::string>& metadata);

/// Roles that a file's tensors can play, by their names.
struct TensorRoles {
  bool inputs = false;  ///< q, k and v in one naming convention
  bool output = false;  ///< o, out, output, attn_out or similar, or a single tensor
};
TensorRoles tensor_roles(const InputFile& file);

/// Text of each tensor, "q: [8, 1024, 64] F16", sorted by name. Throws as `list_safetensors`.
std::vector<std::string> tensor_texts(const InputFile& file);

/// Usual names of a kernel's output in files.
inline constexpr std::array<std::string_view, 8> usual_output_names{
    "o", "O", "out", "output", "attn_out", "attn_output", "attention_output", "context"};

/// The first of these tensors that `file` has, or with `or_only` its only one. Throws as `list_safetensors`.
StoredTensor read_tensor(const InputFile& file, std::span<const std::string_view> names, bool or_only);

/// A kernel's output among the tensors of `file`. Throws as `list_safetensors`.
StoredTensor read_output_tensor(const InputFile& file);

}  // namespace attoscope
