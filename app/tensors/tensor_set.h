/// Every tensor behind a text that names files: one file, several, an archive or a folder.
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

/// What files may be called, for messages and help.
inline constexpr std::string_view tensor_file_specs =
    "FILE.safetensors, FILE.npz, a folder of such files or of .npy files, q.npy,k.npy,v.npy or several files with commas "
    "between";

/// One tensor of a set.
struct NamedTensor {
  std::string name;     ///< "layers.7.q_proj", from a file's own names and the file's
  std::string dtype;    ///< "BF16"
  std::string refusal;  ///< why its numbers cannot be read, a sentence; empty: they can
  std::shared_ptr<const InputFile> file;
  StoredTensor tensor;
};

struct TensorSet {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;  ///< of a single .safetensors file
  bool is_dump = false;                         ///< a folder of calls, whose tokens stand before heads
};

/// What scales q, k, v and o are read from, each as `parse_scale_file` reads it; empty: nobody names one.
using ScaleSpecs = std::array<std::string, 4>;

/// Files, scales that are named behind them, and the layout behind these: "qkv.safetensors,k_scale=s.npy[n h d]".
struct FileSpec {
  std::string files;
  std::optional<HeadLayout> layout;
  ScaleSpecs scales{};
};
FileSpec file_spec(std::string_view text);
/// The text that `file_spec` reads back.
std::string file_spec_text(const FileSpec& spec);

/// FILE.npy, FILE.safetensors or FILE.safetensors:TENSOR, and [GROUP] behind it where shapes do not tell which numbers share a
/// scale.
struct ScaleFile {
  std::string file, tensor;  ///< tensor: empty: the file's own, or its only one
  std::optional<SaidGroup> said;
};
/// Throws std::invalid_argument in a sentence.
ScaleFile parse_scale_file(const std::string& text);

/// True where a number stands behind the file of a scale: it is the head, not a tensor's name.
bool has_head_behind_scale(std::string_view text);

/// FILE[LAYOUT] and the head of FILE[LAYOUT]:HEAD, 0 or what stands there; none where no number from 0 on stands behind a
/// colon.
struct HeadSpec {
  std::string files;
  int index = 0;
  bool says_index = false;
};
std::optional<HeadSpec> head_spec(std::string_view text);

/// True for what may be opened: a name that ends as tensor files do, several with commas between, or a folder that is there.
bool names_tensor_files(std::string_view files);

/// The files of a list: "a.npy", "b.safetensors"; the text itself where it is none.
std::vector<std::string> files_in_list(const std::string& files);

/// The same of a text with scales and a layout behind it or not, those of the scales too, and for a folder the files in it that
/// are read.
std::vector<std::string> single_files_of(const std::string& spec);

/// The same text, a head behind it or not, with every path from / on.
std::string absolute_spec(const std::string& spec);

/// Opens them; of each only its header is read. In folders no link is followed. Throws std::runtime_error in a sentence.
TensorSet open_tensor_set(const std::string& files);

/// The names in it, for `calls_in`.
std::vector<TensorName> names_of(const TensorSet& set);

/// The tensor to be read. Throws its refusal.
const NamedTensor& readable(const NamedTensor& tensor);

}  // namespace attoscope
