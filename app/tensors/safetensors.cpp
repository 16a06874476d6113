#include "app/tensors/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "app/json/json.h"
#include "app/words/numbers.h"
#include "kernels/experiment/result.h"

namespace attoscope {
namespace {

using Parsed = nlohmann::json;

constexpr std::uint64_t longest_header = 16 << 20;
constexpr int deepest_header = 3;  // file, tensor, shape

/// Range of a tensor's bytes, from the end of the header.
struct Range {
  std::uint64_t begin = 0, end = 0;
  std::string label;
};

std::string dumped(const Parsed& value) { return in_quotes(value.dump(-1, ' ', false, Parsed::error_handler_t::replace)); }

const Parsed& member(const Parsed& entry, const char* key, const std::string& label) {
  const auto found = entry.find(key);
  if (found == entry.end()) throw std::runtime_error(label + " has no '" + key + "'");
  return *found;
}

std::uint64_t whole_number(const Parsed& value, const std::string& label, const char* key) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  throw std::runtime_error(label + " has " + dumped(value) + " in '" + key + "', expected whole numbers from 0 on");
}

std::vector<std::uint64_t> whole_numbers(const Parsed& entry, const char* key, const std::string& label) {
  const Parsed& list = member(entry, key, label);
  if (!list.is_array()) throw std::runtime_error(label + " has '" + key + "' " + dumped(list) + ", expected a list");
  if (list.size() > 64) throw std::runtime_error(label + " has '" + key + "' of " + std::to_string(list.size()) + " numbers");
  std::vector<std::uint64_t> numbers;
  for (const Parsed& x : list) numbers.push_back(whole_number(x, label, key));
  return numbers;
}

std::string dtype_of(const Parsed& entry, const std::string& label) {
  const Parsed& dtype = member(entry, "dtype", label);
  if (!dtype.is_string()) throw std::runtime_error(label + " has dtype " + dumped(dtype) + ", expected a name");
  return dtype.get<std::string>();
}

Range range_of(const Parsed& entry, std::uint64_t data_bytes, const std::string& label) {
  const std::vector<std::uint64_t> offsets = whole_numbers(entry, "data_offsets", label);
  if (offsets.size() == 2 && offsets[0] <= offsets[1] && offsets[1] <= data_bytes) return {offsets[0], offsets[1], label};
  throw std::runtime_error(label + " has data_offsets " + shape_text(offsets) + ", expected [begin, end] within the " +
                           std::to_string(data_bytes) + " bytes of data");
}

/// Bytes of an element of a type of the format; 0: unknown type.
int element_bytes(std::string_view dtype) {
  static constexpr std::array<std::pair<std::string_view, int>, 16> known{{{"F64", 8},
                                                                           {"F32", 4},
                                                                           {"F16", 2},
                                                                           {"BF16", 2},
                                                                           {"I64", 8},
                                                                           {"U64", 8},
                                                                           {"I32", 4},
                                                                           {"U32", 4},
                                                                           {"I16", 2},
                                                                           {"U16", 2},
                                                                           {"I8", 1},
                                                                           {"U8", 1},
                                                                           {"BOOL", 1},
                                                                           {"F8_E4M3", 1},
                                                                           {"F8_E5M2", 1},
                                                                           {"F8_E8M0", 1}}};
  const auto found = std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == dtype; });
  return found == known.end() ? 0 : found->second;
}

void check_size(const Parsed& entry, const Range& range, const std::string& dtype) {
  const std::vector<std::uint64_t> shape = whole_numbers(entry, "shape", range.label);
  const int bytes = element_bytes(dtype);
  if (bytes == 0) return;
  const std::uint64_t expected = byte_count(shape, bytes, range.label);
  if (range.end - range.begin == expected) return;
  throw std::runtime_error(range.label + " has " + std::to_string(range.end - range.begin) + " bytes, expected " +
                           std::to_string(expected) + " for shape " + shape_text(shape) + " of " + dtype);
}

/// Throws unless the tensors fill the data end to end, without holes or overlaps.
void check_contiguous(std::vector<Range> ranges, std::uint64_t data_bytes, const std::string& path) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& x, const Range& y) { return std::pair(x.begin, x.end) < std::pair(y.begin, y.end); });
  std::uint64_t end = 0;
  for (const Range& r : ranges) {
    if (r.begin != end) {
      throw std::runtime_error(r.label + " begins at byte " + std::to_string(r.begin) + " of the data, expected " +
                               std::to_string(end) + ", where the tensor before it ends");
    }
    end = r.end;
  }
  if (end == data_bytes) return;
  throw std::runtime_error(path + ": holds " + std::to_string(data_bytes) + " bytes of data, expected the " +
                           std::to_string(end) + " that its header names");
}

std::map<std::string, std::string> metadata_of(const Parsed& header, const std::string& path) {
  std::map<std::string, std::string> metadata;
  const auto found = header.find("__metadata__");
  if (found == header.end()) return metadata;
  const auto fail = [&](const Parsed& value) {
    throw std::runtime_error(path + ": __metadata__ has " + dumped(value) + ", expected texts by name");
  };
  if (!found->is_object()) fail(*found);
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string()) fail(value);
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

ElementType readable_type(const std::string& dtype, const std::string& label) {
  const auto found = std::ranges::find(element_type_names, dtype);
  if (found != element_type_names.end()) return static_cast<ElementType>(found - element_type_names.begin());
  throw std::runtime_error(label + " has dtype " + in_quotes(dtype) +
                           ", expected F64, F32, F16, BF16, F8_E4M3, F8_E5M2, F8_E8M0, I8 or U8");
}

/// Names of q, k, v in the file: the first convention of which it has all three.
std::optional<std::array<std::string, 3>> input_names_in(const Parsed& header) {
  const std::array<std::array<std::string, 3>, 3> conventions{{{"q", "k", "v"}, {"Q", "K", "V"}, {"query", "key", "value"}}};
  for (const auto& names : conventions) {
    if (std::all_of(names.begin(), names.end(), [&](const std::string& s) { return header.contains(s); })) return names;
  }
  return std::nullopt;
}

/// Name of the output in the file: a usual one, or that of its only tensor.
std::optional<std::string> output_name_in(const Parsed& header) {
  for (const std::string_view usual : usual_output_names)
    if (header.contains(usual)) return std::string(usual);
  std::vector<std::string> names;
  for (const auto& [key, entry] : header.items())
    if (key != "__metadata__") names.push_back(key);
  return names.size() == 1 ? std::optional(names.front()) : std::nullopt;
}

Parsed read_header(const InputFile& file, std::uint64_t length) {
  std::string text(length, '\0');
  file.read_at(8, text);
  try {
    if (text.front() != '{') throw std::runtime_error("begins with " + in_quotes(text.substr(0, 1)) + ", expected '{'");
    return parse_json(text, deepest_header);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(file.path() + ": header " + error.what());
  }
}

/// A checked header with all its tensors.
struct CheckedHeader {
  Parsed tensors;
  std::uint64_t data = 0, data_bytes = 0;  ///< begin and number of the tensors' bytes
  std::string path;

  /// True if the Python package wrote it from arrays without bf16 (see its `save_safetensors`).
  bool from_arrays() const {
    const auto metadata = tensors.find("__metadata__");
    return metadata != tensors.end() && metadata->is_object() && metadata->value("numbers", Parsed()) == "arrays";
  }
  std::string label(const std::string& tensor) const { return path + ": tensor " + in_quotes(tensor); }
  StoredTensor stored(const std::string& tensor) const {
    const Parsed& entry = tensors[tensor];
    const std::string l = label(tensor);
    return {.label = l,
            .type = readable_type(dtype_of(entry, l), l),
            .shape = whole_numbers(entry, "shape", l),
            .offset = data + range_of(entry, data_bytes, l).begin,
            .tells_format = !from_arrays()};
  }
};

CheckedHeader checked_header(const InputFile& file) {
  const std::uint64_t length = header_bytes(file), data = 8 + length;
  CheckedHeader header{read_header(file, length), data, file.size() - data, file.path()};
  std::vector<Range> ranges;
  for (const auto& [key, entry] : header.tensors.items()) {
    if (key == "__metadata__") continue;
    if (!entry.is_object()) throw std::runtime_error(header.label(key) + " is " + dumped(entry) + ", expected an object");
    ranges.push_back(range_of(entry, header.data_bytes, header.label(key)));
    check_size(entry, ranges.back(), dtype_of(entry, header.label(key)));
  }
  check_contiguous(std::move(ranges), header.data_bytes, file.path());
  return header;
}

}  // namespace

std::uint64_t header_bytes(const InputFile& file) {
  std::array<char, 8> prefix{};
  if (file.size() < prefix.size()) {
    throw std::runtime_error(file.path() + ": has " + std::to_string(file.size()) +
                             " bytes, expected a .safetensors file, which has 8 and a header");
  }
  file.read_at(0, prefix);
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(prefix[static_cast<std::size_t>(i)]);
  const std::uint64_t most = std::min(file.size() - prefix.size(), longest_header);
  if (length >= 2 && length <= most) return length;
  throw std::runtime_error(file.path() + ": header length is " + std::to_string(length) + " bytes, expected 2 to " +
                           std::to_string(most));
}

std::vector<ListedTensor> list_safetensors(const InputFile& file, std::map<std::string, std::string>& metadata) {
  const CheckedHeader header = checked_header(file);
  metadata = metadata_of(header.tensors, file.path());
  std::vector<ListedTensor> list;
  for (const auto& [key, entry] : header.tensors.items()) {
    if (key == "__metadata__") continue;
    const std::string label = header.label(key);
    ListedTensor t{key, dtype_of(entry, label), "", {}};
    t.tensor.label = label;
    t.tensor.shape = whole_numbers(entry, "shape", label);
    try {
      t.tensor = header.stored(key);
    } catch (const std::runtime_error& error) {
      t.refusal = error.what();
    }
    list.push_back(std::move(t));
  }
  return list;
}

TensorRoles tensor_roles(const InputFile& file) {
  const CheckedHeader header = checked_header(file);
  return {input_names_in(header.tensors).has_value(), output_name_in(header.tensors).has_value()};
}

std::vector<std::string> tensor_texts(const InputFile& file) {
  const CheckedHeader header = checked_header(file);
  std::vector<std::string> texts;
  for (const auto& [key, entry] : header.tensors.items())
    if (key != "__metadata__")
      texts.push_back(key + ": " + shape_text(whole_numbers(entry, "shape", header.label(key))) + " " +
                      dtype_of(entry, header.label(key)));
  return texts;
}

StoredTensor read_tensor(const InputFile& file, std::span<const std::string_view> names, bool or_only) {
  const CheckedHeader header = checked_header(file);
  std::vector<std::string> there;
  for (const auto& [key, entry] : header.tensors.items())
    if (key != "__metadata__") there.push_back(key);
  for (const std::string_view name : names)
    if (std::ranges::find(there, name) != there.end()) return header.stored(std::string(name));
  if (or_only && there.size() == 1) return header.stored(there.front());
  std::string wanted, held;
  for (const std::string_view name : names) wanted += (wanted.empty() ? "" : ", ") + in_quotes(name);
  for (const std::string& name : std::span(there).first(std::min<std::size_t>(there.size(), 12)))
    held += (held.empty() ? "" : ", ") + in_quotes(name);
  throw std::runtime_error(file.path() + ": has no tensor " + wanted + ", only " + (held.empty() ? "none" : held) +
                           (there.size() > 12 ? ", ..." : ""));
}

StoredTensor read_output_tensor(const InputFile& file) {
  const CheckedHeader header = checked_header(file);
  if (const auto output = output_name_in(header.tensors)) return header.stored(*output);
  throw std::runtime_error(file.path() + ": has no tensor called o, out, output or attn_out, and not just one");
}

}  // namespace attoscope
