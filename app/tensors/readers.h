/// Formats of tensor files. To add one, write a source file with its reader and list it in readers.cpp.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/tensors/stored_tensor.h"

namespace attoscope::app {

/// One tensor of a set.
struct NamedTensor {
  std::string name;     ///< "layers.7.q_proj", from the name in the file and the file's name
  std::string dtype;    ///< "BF16"
  std::string refusal;  ///< one sentence why its numbers cannot be read; empty: they can
  std::shared_ptr<const InputFile> file;
  StoredTensor tensor;
};

/// A number, a boolean ("true"), a text of at most 64 bytes, or a list of these, stored beside tensors.
struct StoredValue {
  std::string name;
  std::vector<std::string> texts{};
  std::string label{};  ///< for messages: "FILE: value 'causal'"
};

struct TensorSet {
  std::vector<NamedTensor> tensors;
  std::vector<StoredValue> values{};
  std::map<std::string, std::string> metadata;  ///< of a single file
  bool is_dump = false;                         ///< a folder of calls, with tokens before heads
};

/// Contents of a file. one: one tensor, named by its file. named: several tensors, each named FILE:TENSOR. archive: files of
/// one tensor each.
enum class FileKind : std::uint8_t { one, named, archive };

/// A format of tensor files.
struct Reader {
  std::vector<std::string_view> endings;  ///< ".npy"
  FileKind kind = FileKind::named;
  /// Lists the tensors by their names in the file, "" of kind `one`; reads no data. Throws std::runtime_error with one sentence
  /// that names the file, the key, the value and what was expected.
  TensorSet (*list)(const std::shared_ptr<const InputFile>& file) = nullptr;
  /// Cost of reading the file: the number of bytes of plain numbers that take the same time.
  std::uint64_t (*effort)(const InputFile& file) = nullptr;
};
const std::vector<Reader>& readers();

/// Reader of the file's format by its ending; null: none.
const Reader* reader_of(std::string_view path);
/// True if a file of this name holds this kind.
bool holds(FileKind kind, std::string_view path);
/// True for kinds `one` and `named`.
bool is_tensor_file(std::string_view path);
/// "call.safetensors" as "call"; unchanged without an ending of a reader.
std::string without_ending(const std::string& path);
/// The endings of all readers' files.
std::vector<std::string> tensor_endings();
/// ".npy, .safetensors or .npz"
std::string reader_endings();

/// Opens a file and lists its tensors. Throws as its reader.
TensorSet list_file(const std::string& path);

/// Lists in the metadata of a .gguf by their keys, each value as a text.
using GgufLists = std::map<std::string, std::vector<std::string>>;
/// Reads the metadata of a .gguf except its lists; fills the lists whose keys `lists` has. Throws as its reader.
std::map<std::string, std::string> read_gguf_metadata(const std::string& path, GgufLists& lists);

/// "FILE.safetensors[:INDEX], FILE.npz[:INDEX]": names of files of these kinds, each with `behind`, for messages and help.
std::string file_specs(std::initializer_list<FileKind> kinds, std::string_view behind = "");
/// Texts that name one tensor, for messages and help.
std::string tensor_specs();

/// FILE, or FILE:TENSOR of kind `named` or `archive`.
struct TensorRef {
  std::string file, tensor;  ///< tensor empty: not named
};
TensorRef tensor_ref(const std::string& text);

/// Bytes per element of a type by its name in files, "BF16" or "I64"; 0: unknown type.
int element_bytes(std::string_view dtype);
/// Sets the element type from `dtype`, and the refusal if such numbers cannot be read.
void set_type(NamedTensor& tensor);

/// Returns `tensor`. Throws its `refusal` if it has one.
const NamedTensor& readable(const NamedTensor& tensor);
/// True if its numbers can be read; whole numbers and booleans count.
inline bool has_numbers(const NamedTensor& t) { return t.refusal.empty() || is_index_type(t.tensor.type); }
/// Returns `tensor` if it `has_numbers`; else throws its `refusal`.
const NamedTensor& numeric(const NamedTensor& tensor);

}  // namespace attoscope::app
