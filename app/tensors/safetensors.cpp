// .safetensors files: reads headers, checked against malicious content, and writes files of exact numbers.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "app/json/json.h"
#include "app/tensors/exact_tensors.h"
#include "app/tensors/readers.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

using Parsed = nlohmann::json;

constexpr int deepest_header = 3;  // file, tensor, shape

/// Range of a tensor's bytes, from the end of the header.
struct Range {
  std::uint64_t begin = 0, end = 0;
  std::string label;
};

const Parsed& member(const Parsed& entry, const char* key, const std::string& label) {
  const auto found = entry.find(key);
  if (found == entry.end()) throw std::runtime_error(label + " has no '" + key + "'");
  return *found;
}

std::vector<std::uint64_t> whole_numbers(const Parsed& entry, const char* key, const std::string& label) {
  const Parsed& list = member(entry, key, label);
  if (!list.is_array()) throw std::runtime_error(label + " has '" + key + "' " + quoted_json(list) + ", expected a list");
  constexpr std::size_t most = 64;
  if (list.size() > most)
    throw std::runtime_error(label + " has '" + key + "' of " + std::to_string(list.size()) + " numbers, expected at most " +
                             std::to_string(most));
  for (const Parsed& x : list)
    if (!x.is_number_unsigned())
      throw std::runtime_error(label + " has " + quoted_json(x) + " in '" + key + "', expected whole numbers from 0 on");
  return list.get<std::vector<std::uint64_t>>();
}

std::string dtype_of(const Parsed& entry, const std::string& label) {
  const Parsed& dtype = member(entry, "dtype", label);
  if (!dtype.is_string()) throw std::runtime_error(label + " has dtype " + quoted_json(dtype) + ", expected a name");
  return dtype.get<std::string>();
}

Range range_of(const Parsed& entry, std::uint64_t data_bytes, const std::string& label) {
  const std::vector<std::uint64_t> offsets = whole_numbers(entry, "data_offsets", label);
  if (offsets.size() == 2 && offsets[0] <= offsets[1] && offsets[1] <= data_bytes) return {offsets[0], offsets[1], label};
  throw std::runtime_error(label + " has data_offsets " + shape_text(offsets) + ", expected [begin, end] within the " +
                           std::to_string(data_bytes) + " bytes of data");
}

/// Shape of a tensor. Throws unless it fills its range.
std::vector<std::uint64_t> checked_shape(const Parsed& entry, const Range& range, const std::string& dtype) {
  const std::vector<std::uint64_t> shape = whole_numbers(entry, "shape", range.label);
  const int bytes = element_bytes(dtype);
  const std::uint64_t size = range.end - range.begin, expected = bytes == 0 ? size : byte_count(shape, bytes, range.label);
  if (size == expected) return shape;
  throw std::runtime_error(range.label + " has " + std::to_string(size) + " bytes, expected " + std::to_string(expected) +
                           " for shape " + shape_text(shape) + " of " + dtype);
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
    throw std::runtime_error(path + ": __metadata__ has " + quoted_json(value) + ", expected texts by name");
  };
  if (!found->is_object()) fail(*found);
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string()) fail(value);
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

/// Length of the header in the file's first bytes. Throws std::runtime_error with one sentence if it is impossible.
std::uint64_t header_bytes(const InputFile& file) {
  std::array<char, 8> prefix{};
  constexpr std::uint64_t shortest_header = 2;
  if (file.size() < prefix.size() + shortest_header) {
    throw std::runtime_error(file.path() + ": has " + std::to_string(file.size()) +
                             " bytes, expected a .safetensors file, which has 8 and a header");
  }
  file.read_at(0, prefix);
  const std::uint64_t length = number_in({prefix.data(), prefix.size()});
  constexpr std::uint64_t longest = 16 << 20;
  const std::uint64_t most = std::min(file.size() - prefix.size(), longest);
  if (length >= shortest_header && length <= most) return length;
  throw std::runtime_error(file.path() + ": header length is " + std::to_string(length) + " bytes, expected 2 to " +
                           std::to_string(most));
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

TensorSet list_safetensors(const std::shared_ptr<const InputFile>& file) {
  const std::uint64_t data = 8 + header_bytes(*file), data_bytes = file->size() - data;
  const Parsed header = read_header(*file, data - 8);
  TensorSet set;
  std::vector<Range> ranges;
  for (const auto& [key, entry] : header.items()) {
    if (key == "__metadata__") continue;
    const std::string label = file->path() + ": tensor " + in_quotes(key);
    if (!entry.is_object()) throw std::runtime_error(label + " is " + quoted_json(entry) + ", expected an object");
    ranges.push_back(range_of(entry, data_bytes, label));
    const std::string dtype = dtype_of(entry, label);
    const std::uint64_t begin = data + ranges.back().begin;
    std::vector<std::uint64_t> shape = checked_shape(entry, ranges.back(), dtype);
    NamedTensor t{key, dtype, "", file, {.label = label, .shape = std::move(shape), .offset = begin}};
    set_type(t);
    set.tensors.push_back(std::move(t));
  }
  check_contiguous(std::move(ranges), data_bytes, file->path());
  set.metadata = metadata_of(header, file->path());
  const auto numbers = set.metadata.find("numbers");  // the Python package wrote arrays, which cannot hold bf16
  if (numbers != set.metadata.end() && numbers->second == "arrays")
    for (NamedTensor& t : set.tensors) t.tensor.tells_format = false;
  return set;
}

std::uint64_t effort_of_safetensors(const InputFile& file) {
  constexpr std::uint64_t parsing = 16;  // times as slow as reading numbers
  return file.size() + parsing * header_bytes(file);
}

/// A type with its encoding. `bits` of a number that the type cannot hold may be another number's bits.
struct ExactType {
  std::string_view name;
  int bytes;
  std::uint64_t (*bits)(double x);
  double (*number)(std::uint64_t bits);
};

std::uint64_t f16_bits(double x) {
  const std::uint64_t sign = std::signbit(x) ? 0x8000 : 0;
  const double size = std::fabs(x);
  if (!(size < 65536)) return sign | (std::isnan(x) ? 0x7e00U : 0x7c00U);
  if (size == 0) return sign;
  const int exponent = std::max(std::ilogb(size), -14);  // 1024 to 2047 ulps, or fewer if subnormal
  return sign |
         (static_cast<std::uint64_t>(exponent + 14) * 1024 + static_cast<std::uint64_t>(std::ldexp(size, 10 - exponent)));
}
std::uint64_t f32_bits(double x) { return std::bit_cast<std::uint32_t>(static_cast<float>(x)); }
double f32_number(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }

constexpr std::array<ExactType, 4> exact_types{{
    {"F16", 2, f16_bits, [](std::uint64_t bits) { return number_of(fp16, bits); }},
    {"BF16", 2, [](double x) { return f32_bits(x) >> 16U; }, [](std::uint64_t bits) { return f32_number(bits << 16U); }},
    {"F32", 4, f32_bits, f32_number},
    {"F64", 8, [](double x) { return std::bit_cast<std::uint64_t>(x); },
     [](std::uint64_t bits) { return std::bit_cast<double>(bits); }},
}};

bool holds_all(const ExactType& type, const std::vector<double>& values) {
  return std::ranges::all_of(values, [&](double x) {
    return std::bit_cast<std::uint64_t>(type.number(type.bits(x))) == std::bit_cast<std::uint64_t>(x);
  });
}

const ExactType& narrowest(const std::vector<double>& values, std::string_view before) {
  const auto* const first = std::ranges::find(exact_types, before, &ExactType::name);
  if (first != exact_types.end() && holds_all(*first, values)) return *first;
  return *std::ranges::find_if(exact_types, [&](const ExactType& type) { return holds_all(type, values); });
}

void append(std::string& bytes, std::uint64_t number, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(number >> 8 * i & 255U);
}

}  // namespace

std::string_view exact_type(const std::vector<double>& values, std::string_view before) {
  return narrowest(values, before).name;
}

std::string safetensors_bytes(const std::vector<ExactTensor>& tensors, const FileMetadata& metadata) {
  Json header = Json::object();
  for (const auto& [key, text] : metadata) header["__metadata__"][key] = text;
  std::string data;
  for (const ExactTensor& t : tensors) {
    const ExactType& type = narrowest(t.values, t.type);
    const std::size_t begin = data.size();
    for (const double x : t.values) append(data, type.bits(x), type.bytes);
    header[t.name] = {{"dtype", type.name}, {"shape", t.shape}, {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump(), file;
  text.append((8 - text.size() % 8) % 8, ' ');
  append(file, text.size(), 8);
  return file + text + data;
}

Reader safetensors_reader() { return {{".safetensors"}, FileKind::named, list_safetensors, effort_of_safetensors}; }

}  // namespace attoscope::app
