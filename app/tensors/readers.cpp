#include "app/tensors/readers.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "app/words/numbers.h"
#include "kernels/experiment/settings.h"

namespace attoscope::app {

Reader npy_reader(), safetensors_reader(), npz_reader(), torch_reader(), gguf_reader();  // each in the file of its format

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all{npy_reader(), safetensors_reader(), npz_reader(), torch_reader(), gguf_reader()};
  return all;
}

const Reader* reader_of(std::string_view path) {
  for (const Reader& reader : readers())
    if (std::ranges::any_of(reader.endings, [&](std::string_view ending) { return path.ends_with(ending); })) return &reader;
  return nullptr;
}

bool holds(FileKind kind, std::string_view path) {
  const Reader* const reader = reader_of(path);
  return reader != nullptr && reader->kind == kind;
}

bool is_tensor_file(std::string_view path) { return holds(FileKind::one, path) || holds(FileKind::named, path); }

std::string without_ending(const std::string& path) {
  for (const std::string& ending : tensor_endings())
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  return path;
}

std::vector<std::string> tensor_endings() {
  std::vector<std::string> endings;
  for (const Reader& reader : readers()) endings.insert(endings.end(), reader.endings.begin(), reader.endings.end());
  return endings;
}

std::string reader_endings() { return listed(tensor_endings()); }

std::string file_specs(std::initializer_list<FileKind> kinds, std::string_view behind) {
  std::string text;
  for (const Reader& reader : readers())
    if (std::ranges::find(kinds, reader.kind) != kinds.end())
      text.append(text.empty() ? "" : ", ").append("FILE").append(reader.endings.front()).append(behind);
  return text;
}

std::string tensor_specs() { return file_specs({FileKind::one, FileKind::named}) + ", or FILE:TENSOR of a file with several"; }

TensorSet list_file(const std::string& path) {
  const auto file = std::make_shared<const InputFile>(path);
  return reader_of(path)->list(file);
}

TensorRef tensor_ref(const std::string& text) {
  std::size_t end = 0;
  for (const Reader& reader : readers())
    for (const std::string_view ending : reader.endings)
      if (const std::size_t at = text.rfind(std::string(ending) + ":"); reader.kind != FileKind::one && at != text.npos)
        end = std::max(end, at + ending.size());
  return end == 0 ? TensorRef{text, ""} : TensorRef{text.substr(0, end), text.substr(end + 1)};
}

int element_bytes(std::string_view dtype) {
  if (const auto type = type_named(dtype)) return bytes_of(*type);
  if (dtype == "C64" || dtype == "C128") return dtype == "C64" ? 8 : 16;
  return dtype == "F8_E4M3FNUZ" || dtype == "F8_E5M2FNUZ" ? 1 : 0;
}

void set_type(NamedTensor& t) {
  const auto type = type_named(t.dtype);
  t.tensor.type = type.value_or(t.tensor.type);
  if (!type || is_index_type(*type))
    t.refusal = t.tensor.label + " has dtype " + in_quotes(t.dtype) +
                ", expected F64, F32, F16, BF16, F8_E4M3, F8_E5M2, F8_E8M0, I8 or U8";
}

const NamedTensor& readable(const NamedTensor& tensor) {
  if (!tensor.refusal.empty()) throw std::runtime_error(tensor.refusal);
  return tensor;
}

const NamedTensor& numeric(const NamedTensor& tensor) { return has_numbers(tensor) ? tensor : readable(tensor); }

}  // namespace attoscope::app
