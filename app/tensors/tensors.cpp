#include "app/tensors/tensors.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <vector>

#include "app/tensors/npy.h"
#include "app/tensors/safetensors.h"
#include "app/words/numbers.h"

namespace attoscope {

std::optional<std::array<std::string, 3>> npy_paths(std::string_view list) {
  constexpr std::string_view between = ".npy,";
  const std::size_t first = list.find(between);
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t q_end = first + between.size() - 1, second = list.find(between, q_end);
  if (second == std::string_view::npos || !list.ends_with(".npy")) return std::nullopt;
  const std::size_t k_end = second + between.size() - 1;
  std::array<std::string, 3> paths{std::string(list.substr(0, q_end)), std::string(list.substr(q_end + 1, k_end - q_end - 1)),
                                   std::string(list.substr(k_end + 1))};
  if (paths[2].find(between) != std::string::npos) return std::nullopt;
  return paths;
}

namespace {

/// Three tensors, each with the file it lies in.
struct TensorFiles {
  std::vector<InputFile> files;  ///< one for all, or one for each
  std::array<StoredTensor, 3> qkv;
  std::map<std::string, std::string> metadata;
  Extent extent;

  const InputFile& file_of(std::size_t i) const { return files[files.size() == 1 ? 0 : i]; }
};

bool names_tensors(std::string_view file) { return file.ends_with(".safetensors") || npy_paths(file).has_value(); }

TensorFiles open_tensors(const std::string& list) {
  TensorFiles t;
  if (const auto paths = npy_paths(list)) {
    for (std::size_t i = 0; i < 3; ++i) t.qkv[i] = read_npy(t.files.emplace_back((*paths)[i]));
  } else if (list.ends_with(".safetensors")) {
    Safetensors s = read_safetensors(t.files.emplace_back(list));
    t.qkv = std::move(s.qkv);
    t.metadata = std::move(s.metadata);
  } else {
    throw std::runtime_error("input file " + in_quotes(list) +
                             " is not understood, expected FILE.safetensors or q.npy,k.npy,v.npy");
  }
  t.extent = common_extent(t.qkv);
  return t;
}

std::uint64_t hash(const std::vector<double>& values, std::uint64_t seed) {
  return XXH3_64bits_withSeed(values.data(), values.size() * sizeof(double), seed);
}

std::uint64_t digest_of(const Tensors& t) {
  const std::uint64_t shape = static_cast<std::uint64_t>(t.n) << 32 | static_cast<std::uint64_t>(t.d);
  return hash(t.v, hash(t.k, hash(t.q, shape)));
}

/// "layer7.head12" as "layer 7, head 12".
std::string spoken(std::string_view name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '.') {
      text += ", ";
      continue;
    }
    if (i > 0 && is_digit(name[i]) && is_letter(name[i - 1])) text += ' ';
    text += name[i];
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> head_names(const TensorFiles& t) {
  std::vector<std::string> names;
  const auto given = t.metadata.find("heads");
  if (given != t.metadata.end()) {
    for (const std::string_view name : split(given->second, ',')) names.push_back(spoken(name));
    if (static_cast<int>(names.size()) == t.extent.heads) return names;
    names.clear();
  }
  for (int i = 0; i < t.extent.heads; ++i) names.push_back("head " + std::to_string(i));
  return names;
}

/// FILE or FILE:INDEX.
Input parse_file(std::string_view spec) {
  Input input;
  input.kind = InputKind::tensors;
  input.file = spec;
  if (names_tensors(spec)) return input;
  const std::size_t colon = spec.rfind(':');
  const std::string_view text = spec.substr(colon + 1);
  const auto index = to_number<int>(text);
  if (!index || *index < 0) {
    throw std::invalid_argument("input " + in_quotes(spec) + " has head index " + in_quotes(text) +
                                ", expected a whole number from 0 on");
  }
  input.file = spec.substr(0, colon);
  input.index = *index;
  return input;
}

/// "constant:1.5", "biased:0.5".
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

}  // namespace

Input parse_input(std::string_view spec) {
  for (const InputKind kind : {InputKind::constant, InputKind::biased})
    if (spec.starts_with(std::string(name(kind)) + ":")) return parse_valued(kind, spec);
  Input input;
  for (std::size_t i = 0; i < input_names.size(); ++i) {
    input.kind = static_cast<InputKind>(i);
    if (spec == input_names[i] && input.kind != InputKind::tensors && !has_value(input.kind)) return input;
  }
  if (names_tensors(spec) || names_tensors(spec.substr(0, spec.rfind(':')))) return parse_file(spec);
  throw std::invalid_argument("input " + in_quotes(spec) + " is unknown, expected " + std::string(input_specs));
}

std::string input_spec(const Input& input) {
  if (has_value(input.kind)) return std::string(name(input.kind)) + ":" + shortest(input.value);
  if (input.kind == InputKind::tensors) return input.file + ":" + std::to_string(input.index);
  return std::string(name(input.kind));
}

void load_tensors(Input& input, const ReadWatch& watch) {
  if (input.kind != InputKind::tensors || input.tensors) return;
  const TensorFiles t = open_tensors(input.file);
  if (input.index < 0 || input.index >= t.extent.heads) {
    throw std::runtime_error(input.file + ": head index is " + std::to_string(input.index) + ", expected 0 to " +
                             std::to_string(t.extent.heads - 1));
  }
  check_memory(input.file, 3, t.extent.n, t.extent.d);
  const auto matrix = [&](std::size_t i) {
    const ReadWatch third = [&](double share) { return watch && watch((static_cast<double>(i) + share) / 3); };
    return read_matrix(t.file_of(i), t.qkv[i], t.extent, input.index, third);
  };
  Tensors read{t.extent.n, t.extent.d, matrix(0), matrix(1), matrix(2)};
  input.digest = digest_of(read);
  input.tensors = std::make_shared<const Tensors>(std::move(read));
}

bool quick_to_read(const std::string& files) {
  constexpr std::uint64_t few_bytes = 4 << 20, short_header = 1 << 18;
  try {
    const auto paths = npy_paths(files);
    for (const std::string& path : paths ? std::vector<std::string>(paths->begin(), paths->end()) : std::vector{files}) {
      const InputFile file(path);
      if (file.size() > few_bytes || (path.ends_with(".safetensors") && header_bytes(file) > short_header)) return false;
    }
  } catch (const std::exception&) {  // the sentence about it comes from who reads
  }
  return true;
}

std::vector<std::string> contents_of(const std::string& spec) {
  const std::size_t colon = spec.rfind(':');
  const bool has_index = colon != std::string::npos && to_number<int>(std::string_view(spec).substr(colon + 1));
  const std::string files = has_index ? spec.substr(0, colon) : spec;
  if (files.ends_with(".safetensors")) return tensor_texts(InputFile(files));
  const auto paths = npy_paths(files);
  if (!paths && !files.ends_with(".npy"))
    throw std::runtime_error(in_quotes(files) + " is not understood, expected a .npy or .safetensors file");
  std::vector<std::string> texts;
  for (const std::string& path : paths ? std::vector<std::string>(paths->begin(), paths->end()) : std::vector{files}) {
    const StoredTensor t = read_npy(InputFile(path));
    texts.push_back(path.substr(path.find_last_of('/') + 1) + ": " + shape_text(t.shape) + " " +
                    std::string(type_name(t.type)));
  }
  return texts;
}

TensorFileInfo describe_tensors(const std::string& file) {
  const TensorFiles t = open_tensors(file);
  return {file, t.extent.heads, t.extent.n, t.extent.d, head_names(t)};
}

}  // namespace attoscope
