/// All tensors of a text that names files: one file, several, an archive or a folder.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/tensors/head_layout.h"
#include "app/tensors/stored_tensor.h"
#include "app/tensors/tensor_names.h"
#include "app/tensors/tensor_scales.h"

namespace attoscope {

/// Texts that name tensor files, for messages and help.
inline constexpr std::string_view tensor_file_specs =
    "FILE.safetensors, FILE.npz, a folder of such files or of .npy files, q.npy,k.npy,v.npy or several files with commas "
    "between";

/// One tensor of a set.
struct NamedTensor {
  std::string name;     ///< "layers.7.q_proj", from the name in the file and the file's
  std::string dtype;    ///< "BF16"
  std::string refusal;  ///< one sentence why its numbers cannot be read; empty: they can
  std::shared_ptr<const InputFile> file;
  StoredTensor tensor;
};

struct TensorSet {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;  ///< of a single .safetensors file
  bool is_dump = false;                         ///< a folder of calls, with tokens before heads
};

/// Scales of q, k, v and o as text for `parse_scale_file`; empty: not named.
using ScaleSpecs = std::array<std::string, 4>;

/// Files, then explicitly named scales, then the layout: "qkv.safetensors,k_scale=s.npy[n h d]".
struct FileSpec {
  std::string files;
  std::optional<HeadLayout> layout;
  ScaleSpecs scales{};
};
FileSpec file_spec(std::string_view text);
/// The text for `file_spec`.
std::string file_spec_text(const FileSpec& spec);

/// FILE.npy, FILE.safetensors or FILE.safetensors:TENSOR, with [GROUP] behind it if the shape fits several groups.
struct ScaleFile {
  std::string file, tensor;  ///< tensor empty: the file's scale, or its only tensor
  std::optional<SaidGroup> said;
};
/// Throws std::invalid_argument with one sentence.
ScaleFile parse_scale_file(const std::string& text);

/// True if the number behind a scale's file is the head, not a tensor's name.
bool has_head_behind_scale(std::string_view text);

/// FILE[LAYOUT] and the head of FILE[LAYOUT]:HEAD, by default 0; none if the text behind the colon is not a number from 0.
struct HeadSpec {
  std::string files;
  int index = 0;
  bool says_index = false;
};
std::optional<HeadSpec> head_spec(std::string_view text);

/// True if the text may name tensor files: usual endings, several with commas between, or an existing folder.
bool names_tensor_files(std::string_view files);

/// Files of a list: "a.npy", "b.safetensors"; else the text itself.
std::vector<std::string> files_in_list(const std::string& files);

/// Files of a text with or without scales and a layout, including the scales' files, and for a folder the files in it that are
/// read.
std::vector<std::string> single_files_of(const std::string& spec);

/// The same text, with or without a head, with absolute paths.
std::string absolute_spec(const std::string& spec);

/// Opens the files and reads their headers. Does not follow links in folders. Throws std::runtime_error with one sentence.
TensorSet open_tensor_set(const std::string& files);

/// Names of the tensors, for `calls_in`.
std::vector<TensorName> names_of(const TensorSet& set);

/// The tensor itself. Throws its `refusal` if it cannot be read.
const NamedTensor& readable(const NamedTensor& tensor);

}  // namespace attoscope
