/// Tensor files made by hand, good and bad.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/tensors/tensors.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::testing {

inline const std::string example = "assets/examples/smollm2_135m.safetensors";

inline std::string little_endian(std::uint64_t x, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i, x >>= 8) bytes += static_cast<char>(x & 255);
  return bytes;
}

/// A .safetensors file with this header and `data_bytes` zeros as data.
inline std::string safetensors(const std::string& header, std::size_t data_bytes) {
  return little_endian(header.size(), 8) + header + std::string(data_bytes, '\0');
}

/// A tensor's entry in a header; its data are the bytes [begin, end).
inline std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, std::int64_t begin,
                         std::int64_t end) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":[" + std::to_string(begin) +
         "," + std::to_string(end) + "]}";
}

/// A shape as in headers: "[2,3]".
inline std::string sizes_text(const std::vector<int>& sizes) {
  std::string text = "[";
  for (const int size : sizes) text += (text.size() > 1 ? "," : "") + std::to_string(size);
  return text + "]";
}

/// A tensor of a file; type and shape as in the header: "F32", "[2,3]".
struct FileTensor {
  std::string name, type, shape, bytes;
};

/// q, k and v with equal type, shape and bytes, and `more` tensors.
inline std::vector<FileTensor> alike(const std::string& type, const std::string& shape, const std::string& bytes,
                                     const std::vector<FileTensor>& more = {}) {
  std::vector<FileTensor> all{{"q", type, shape, bytes}, {"k", type, shape, bytes}, {"v", type, shape, bytes}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// A .safetensors file of these tensors in this order; `metadata`: "\"__metadata__\":{...},".
inline std::string safetensors(const std::vector<FileTensor>& tensors, const std::string& metadata = "") {
  std::string header = "{" + metadata, data;
  for (const FileTensor& t : tensors) {
    const auto begin = static_cast<int>(data.size());
    data += t.bytes;
    header += (&t == tensors.data() ? "" : ",") + entry(t.name, t.type, t.shape, begin, static_cast<int>(data.size()));
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');  // data begin at a multiple of 8 bytes, as in files of the library
  return safetensors(header, 0) + data;
}

/// A header of q, k, v of shape (2, 3) in F32, 24 bytes each, after `more`.
inline std::string good_header(const std::string& more = "") {
  return "{" + more + entry("q", "F32", "[2,3]", 0, 24) + "," + entry("k", "F32", "[2,3]", 24, 48) + "," +
         entry("v", "F32", "[2,3]", 48, 72) + "}";
}

/// The input with its tensors loaded.
inline Input loaded(Input input) {
  load_tensors(input);
  return input;
}

/// The error sentence for a .safetensors file of these bytes.
inline std::string refusal(const std::string& bytes, int index = 0) {
  const TemporaryDirectory scratch;
  Input input = parse_input(scratch.write("x.safetensors", bytes) + ":" + std::to_string(index));
  const std::string sentence = sentence_of([&] { load_tensors(input); });
  EXPECT_THAT(sentence, ::testing::HasSubstr("x.safetensors"));
  EXPECT_EQ(input.tensors, nullptr);
  return sentence;
}

/// A .npy file.
inline std::string npy(const std::string& header, const std::string& data, int version = 1) {
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' + little_endian(header.size(), version == 1 ? 2 : 4) +
         header + data;
}

inline std::string npy_header(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

template <class T>
inline std::string raw(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// number(0), number(1), ...
template <class Number = std::identity>
std::vector<float> floats_of(int count, Number number = {}) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(number(i)));
  return values;
}

/// A tensor of F32 of these sizes: number(0), number(1), ...
template <class Number = std::identity>
FileTensor counted(const std::string& name, const std::vector<int>& sizes, Number number = {}) {
  const int count = std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
  return {name, "F32", sizes_text(sizes), raw(floats_of(count, number))};
}

/// A .npy file of these floats or doubles; `shape` as in the header: "(2, 3)".
template <class T>
inline std::string npy_of(const std::string& shape, const std::vector<T>& values) {
  return npy(npy_header(sizeof(T) == 4 ? "<f4" : "<f8", shape), raw(values));
}

/// The last `count` numbers of a file, without conversion.
template <class T>
inline std::vector<T> last_numbers(const std::string& path, std::size_t count) {
  const std::string bytes = bytes_of_file(path);
  std::vector<T> values(count);
  EXPECT_GT(bytes.size(), count * sizeof(T)) << path;
  if (bytes.size() > count * sizeof(T))
    std::memcpy(values.data(), bytes.data() + bytes.size() - count * sizeof(T), count * sizeof(T));
  return values;
}

/// Input of q.npy with the bytes `q`, and valid k.npy and v.npy of shape (2, 3).
inline Input npy_input(const TemporaryDirectory& scratch, const std::string& q) {
  const std::string good = npy(npy_header("<f4", "(2, 3)"), std::string(24, '\0'));
  return parse_input(scratch.write("q.npy", q) + "," + scratch.write("k.npy", good) + "," + scratch.write("v.npy", good));
}

inline std::string npy_refusal(const std::string& q) {
  const TemporaryDirectory scratch;
  Input input = npy_input(scratch, q);
  const std::string sentence = sentence_of([&] { load_tensors(input); });
  EXPECT_THAT(sentence, ::testing::HasSubstr(".npy"));
  return sentence;
}

}  // namespace attoscope::testing
