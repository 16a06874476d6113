#include "app/tensors/readers.h"

#include <algorithm>
#include <stdexcept>

#include "app/words/numbers.h"
#include "kernels/experiment/settings.h"

namespace attoscope {

Reader npy_reader(), safetensors_reader(), npz_reader();  // each in the file of its format

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all{npy_reader(), safetensors_reader(), npz_reader()};
  return all;
}

namespace {

/// The ending of a reader that the path has; "": none.
std::string_view ending_of(std::string_view path) {
  for (const Reader& reader : readers())
    for (const std::string_view ending : reader.endings)
      if (path.ends_with(ending)) return ending;
  return "";
}

}  // namespace

const Reader* reader_of(std::string_view path) {
  const std::string_view ending = ending_of(path);
  for (const Reader& reader : readers())
    if (!ending.empty() && std::ranges::find(reader.endings, ending) != reader.endings.end()) return &reader;
  return nullptr;
}

bool holds(FileKind kind, std::string_view path) {
  const Reader* const reader = reader_of(path);
  return reader != nullptr && reader->kind == kind;
}

bool is_tensor_file(std::string_view path) { return holds(FileKind::one, path) || holds(FileKind::named, path); }

std::string without_ending(const std::string& path) { return path.substr(0, path.size() - ending_of(path).size()); }

std::string reader_endings() {
  std::vector<std::string_view> endings;
  for (const Reader& reader : readers()) endings.insert(endings.end(), reader.endings.begin(), reader.endings.end());
  return listed(endings);
}

TensorSet list_file(const std::string& path) {
  const auto file = std::make_shared<const InputFile>(path);
  return reader_of(path)->list(file);
}

TensorRef tensor_ref(const std::string& text) {
  std::size_t end = 0;
  for (const Reader& reader : readers())
    for (const std::string_view ending : reader.endings)
      if (const std::size_t at = text.rfind(std::string(ending) + ":"); reader.kind == FileKind::named && at != text.npos)
        end = std::max(end, at + ending.size());
  return end == 0 ? TensorRef{text, ""} : TensorRef{text.substr(0, end), text.substr(end + 1)};
}

const NamedTensor& readable(const NamedTensor& tensor) {
  if (!tensor.refusal.empty()) throw std::runtime_error(tensor.refusal);
  return tensor;
}

}  // namespace attoscope
