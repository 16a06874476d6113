#include "app/tensors/tensors.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "app/tensors/call_files.h"
#include "app/tensors/npy.h"
#include "app/tensors/safetensors.h"
#include "app/words/numbers.h"

namespace attoscope {
namespace {

/// Parses FILE or FILE:INDEX, with or without a layout.
Input parse_file(std::string_view spec) {
  Input input;
  input.kind = InputKind::tensors;
  if (const auto head = head_spec(spec)) {
    input.file = head->files;
    input.index = head->index;
    return input;
  }
  throw std::invalid_argument("input " + in_quotes(spec) + " has head index " + in_quotes(spec.substr(spec.rfind(':') + 1)) +
                              ", expected a whole number from 0 on");
}

bool names_files(std::string_view spec) { return names_tensor_files(file_spec(spec).files); }

/// Parses "constant:1.5", "biased:0.5".
Input parse_valued(InputKind kind, std::string_view spec) {
  const std::string_view text = spec.substr(spec.find(':') + 1);
  const auto value = to_number<double>(text);
  if (!value || !std::isfinite(*value)) {
    throw std::invalid_argument("input " + in_quotes(spec) + " has value " + in_quotes(text) + ", expected a finite number");
  }
  Input input;
  input.kind = kind;
  input.value = *value;
  return input;
}

std::vector<std::string> tensors_in(const std::string& files) {
  if (files.ends_with(".safetensors") && files_in_list(files).size() == 1) return tensor_texts(InputFile(files));
  const auto of_npy = [](const std::string& path) {
    const StoredTensor t = read_npy(InputFile(path));
    return path.substr(path.find_last_of('/') + 1) + ": " + shape_text(t.shape) + " " + std::string(type_name(t.type));
  };
  const std::vector<std::string> list = files_in_list(files);
  std::vector<std::string> texts;
  if (std::ranges::all_of(list, [](const std::string& f) { return f.ends_with(".npy"); })) {
    for (const std::string& path : list) texts.push_back(of_npy(path));
    return texts;
  }
  if (!names_tensor_files(files))
    throw std::runtime_error(in_quotes(files) + " is not understood, expected a .npy or .safetensors file");
  for (const NamedTensor& t : open_tensor_set(files).tensors)
    texts.push_back(t.name + ": " + shape_text(t.tensor.shape) + " " + t.dtype);
  return texts;
}

/// Adds lines on the scales of calls.
void add_scales(std::vector<std::string>& lines, const std::string& spec) {
  try {
    for (const std::string& text : CallFiles(spec).scale_texts()) lines.push_back("scales: " + text);
  } catch (const std::exception&) {  // no matching calls: reported when it is opened
  }
}

}  // namespace

Input parse_input(std::string_view spec) {
  for (const InputKind kind : {InputKind::constant, InputKind::biased})
    if (spec.starts_with(std::string(name(kind)) + ":")) return parse_valued(kind, spec);
  Input input;
  for (std::size_t i = 0; i < input_names.size(); ++i) {
    input.kind = static_cast<InputKind>(i);
    if (spec == input_names[i] && input.kind != InputKind::tensors && !has_value(input.kind)) return input;
  }
  if (names_files(spec) || names_files(spec.substr(0, spec.rfind(':')))) return parse_file(spec);
  throw std::invalid_argument("input " + in_quotes(spec) + " is unknown, expected " + std::string(input_specs));
}

std::string input_spec(const Input& input) {
  if (has_value(input.kind)) return std::string(name(input.kind)) + ":" + shortest(input.value);
  if (input.kind == InputKind::tensors) return input.file + ":" + std::to_string(input.index);
  return std::string(name(input.kind));
}

void load_tensors(Input& input, const ReadWatch& watch) {
  if (input.kind != InputKind::tensors || input.tensors) return;
  input = CallFiles(input.file).input(input.index, watch);
}

Input with_layout(Input input, const HeadLayout& layout) {
  if (input.kind != InputKind::tensors) return input;
  FileSpec spec = file_spec(input.file);
  spec.layout = layout;
  input.file = file_spec_text(spec);
  return input;
}

bool quick_to_read(const std::string& files) {
  constexpr std::uint64_t few_bytes = 4 << 20, short_header = 1 << 18, packed = 1032;  // packed: largest growth of a byte
  std::uint64_t bytes = 0, headers = 0;
  try {
    for (const std::string& path : single_files_of(files)) {
      const InputFile file(path);
      bytes += path.ends_with(".npz") ? packed * file.size() : file.size();
      if (path.ends_with(".safetensors")) headers += header_bytes(file);
      if (bytes > few_bytes || headers > short_header) return false;
    }
  } catch (const std::exception&) {  // the reader reports the error
  }
  return true;
}

std::vector<std::string> contents_of(const std::string& spec) {
  const std::size_t colon = spec.rfind(':');
  const bool has_index = colon != std::string::npos && to_number<int>(std::string_view(spec).substr(colon + 1));
  const std::string text = has_index ? spec.substr(0, colon) : spec;
  std::vector<std::string> lines = tensors_in(file_spec(text).files);
  add_scales(lines, text);
  return lines;
}

TensorFileInfo describe_tensors(const std::string& file) { return CallFiles(file).info(); }

}  // namespace attoscope
