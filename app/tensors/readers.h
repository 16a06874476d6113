/// Formats of tensor files. A new one is a file with its reader, and its entry in readers.cpp.
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
  std::string name;     ///< "layers.7.q_proj", from the name in the file and the file's
  std::string dtype;    ///< "BF16"
  std::string refusal;  ///< one sentence why its numbers cannot be read; empty: they can
  std::shared_ptr<const InputFile> file;
  StoredTensor tensor;
};

/// A number, a boolean ("true"), a text of at most 64 bytes, or a list of these, that lies beside tensors.
struct StoredValue {
  std::string name;
  std::vector<std::string> texts;
};

struct TensorSet {
  std::vector<NamedTensor> tensors;
  std::vector<StoredValue> values{};
  std::map<std::string, std::string> metadata;  ///< of a single file
  bool is_dump = false;                         ///< a folder of calls, with tokens before heads
};

/// Contents of a file. one: a tensor that the file names. named: tensors, of which FILE:TENSOR is one. archive: files of one
/// tensor each.
enum class FileKind : std::uint8_t { one, named, archive };

/// A format of tensor files.
struct Reader {
  std::vector<std::string_view> endings;  ///< ".npy"
  FileKind kind = FileKind::named;
  /// Lists the tensors by their names in the file, "" of kind `one`; reads no data. Throws std::runtime_error with one sentence
  /// that names the file, the key, the value and what was expected.
  TensorSet (*list)(const std::shared_ptr<const InputFile>& file) = nullptr;
  /// Bytes of plain numbers that are read in the time of this file.
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
/// The metadata of a .gguf without its lists; those whose keys `lists` has are read into it. Throws as its reader.
std::map<std::string, std::string> read_gguf_metadata(const std::string& path, GgufLists& lists);

/// "FILE.safetensors[:INDEX], FILE.npz[:INDEX]": names of files of these kinds, for messages and help, with a text behind each.
std::string file_specs(std::initializer_list<FileKind> kinds, std::string_view behind = "");
/// Texts that name one tensor, for messages and help.
std::string tensor_specs();

/// FILE, or FILE:TENSOR of kind `named` or `archive`.
struct TensorRef {
  std::string file, tensor;  ///< tensor empty: not named
};
TensorRef tensor_ref(const std::string& text);

/// Bytes of an element of a type that files have, "BF16" or "I64"; 0: unknown type.
int element_bytes(std::string_view dtype);
/// Sets the type of the numbers from `dtype`, or the reason why they cannot be read.
void set_type(NamedTensor& tensor);

/// The tensor itself. Throws its `refusal` if it cannot be read.
const NamedTensor& readable(const NamedTensor& tensor);
/// True if its numbers can be read where whole numbers and booleans are read, too.
inline bool has_numbers(const NamedTensor& t) { return t.refusal.empty() || is_index_type(t.tensor.type); }
/// As `readable` where these are read.
const NamedTensor& numeric(const NamedTensor& tensor);

}  // namespace attoscope::app
