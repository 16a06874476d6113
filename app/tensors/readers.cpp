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
  static constexpr std::array<std::pair<std::string_view, int>, 20> known{
      {{"F64", 8},   {"F32", 4},     {"F16", 2},     {"BF16", 2},        {"I64", 8},         {"U64", 8},    {"I32", 4},
       {"U32", 4},   {"I16", 2},     {"U16", 2},     {"I8", 1},          {"U8", 1},          {"BOOL", 1},   {"C64", 8},
       {"C128", 16}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E4M3FNUZ", 1}, {"F8_E5M2FNUZ", 1}, {"F8_E8M0", 1}}};
  const auto found = std::ranges::find(known, dtype, [](const auto& type) { return type.first; });
  return found == known.end() ? 0 : found->second;
}

void set_type(NamedTensor& t) {
  const auto type = std::ranges::find(element_type_names, t.dtype);
  if (type != element_type_names.end()) t.tensor.type = static_cast<ElementType>(type - element_type_names.begin());
  if (type == element_type_names.end() || is_index_type(t.tensor.type))
    t.refusal = t.tensor.label + " has dtype " + in_quotes(t.dtype) +
                ", expected F64, F32, F16, BF16, F8_E4M3, F8_E5M2, F8_E8M0, I8 or U8";
}

const NamedTensor& readable(const NamedTensor& tensor) {
  if (!tensor.refusal.empty()) throw std::runtime_error(tensor.refusal);
  return tensor;
}

}  // namespace attoscope::app
