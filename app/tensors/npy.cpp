#include "app/tensors/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "app/files/zip.h"
#include "app/tensors/readers.h"
#include "app/words/numbers.h"
#include "kernels/deviation/fields.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/setting.h"

namespace attoscope::app {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

/// Contents of a header.
struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::uint64_t>> shape;
};

/// Reads the one Python literal that NumPy writes: {'descr': '<f4', 'fortran_order': False, 'shape': (1024, 64), }.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& path) : all_(text), rest_(text), path_(path) {}

  Header read() {
    expect('{');
    while (!accept('}')) {
      read_entry();
      if (accept('}')) break;
      expect(',');
    }
    skip_space();
    if (!rest_.empty()) fail("the end");
    return std::move(header_);
  }

 private:
  void read_entry() {
    const std::string key = text();
    expect(':');
    if (!seen_.insert(key).second) throw std::runtime_error(path_ + ": header gives the key " + in_quotes(key) + " twice");
    if (key == "descr") {
      header_.descr = text();
    } else if (key == "fortran_order") {
      header_.fortran_order = boolean();
    } else if (key == "shape") {
      header_.shape = tuple();
    } else {
      throw std::runtime_error(path_ + ": header has the key " + in_quotes(key) + ", expected descr, fortran_order and shape");
    }
  }

  std::string text() {
    skip_space();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    if (quote != '\'' && quote != '"') fail("a text in quotes");
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) fail("a text in quotes");
    const std::string result(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return result;
  }

  bool boolean() {
    skip_space();
    for (const std::string_view word : {std::string_view("True"), std::string_view("False")}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    fail("True or False");
  }

  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> numbers;
    expect('(');
    while (!accept(')')) {
      numbers.push_back(size());
      if (numbers.size() > 64) fail("at most 64 sizes");
      if (accept(')')) break;
      expect(',');
    }
    return numbers;
  }

  std::uint64_t size() {
    skip_space();
    const std::size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    const std::optional<std::uint64_t> value = to_number<std::uint64_t>(rest_.substr(0, digits));
    if (!value) fail("a size from 0 on");
    rest_.remove_prefix(digits);
    return *value;
  }

  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

  bool accept(char c) {
    skip_space();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(std::string{'\'', c, '\''});
  }

  [[noreturn]] void fail(const std::string& expected) const {
    throw std::runtime_error(path_ + ": header has " + in_quotes(rest_.substr(0, 20)) + " at byte " +
                             std::to_string(all_.size() - rest_.size()) + ", expected " + expected);
  }

  std::string_view all_, rest_;
  const std::string& path_;
  Header header_;
  std::set<std::string> seen_;
};

/// Offset and length of the header's text.
struct Place {
  std::uint64_t begin = 0, length = 0;
};

Place header_place(const InputFile& file) {
  std::array<char, 12> prefix{};
  const std::size_t there = std::min<std::uint64_t>(file.size(), prefix.size());
  file.read_at(0, std::span(prefix).first(there));
  if (there < 10 || std::string_view(prefix.data(), magic.size()) != magic) {
    throw std::runtime_error(file.path() + ": does not begin as a .npy file of NumPy does");
  }
  const std::uint64_t version = number_in({&prefix[6], 1});
  if (version < 1 || version > 3) {
    throw std::runtime_error(file.path() + ": has version " + std::to_string(version) + ", expected 1, 2 or 3");
  }
  const Place place{version == 1 ? 10U : 12U, number_in({&prefix[8], version == 1 ? 2U : 4U})};
  constexpr std::uint64_t longest = 1 << 16;
  const std::uint64_t most = std::min(longest, file.size() - std::min(file.size(), place.begin));
  if (place.length <= most) return place;
  throw std::runtime_error(file.path() + ": header length is " + std::to_string(place.length) + " bytes, expected at most " +
                           std::to_string(most));
}

/// NumPy's names of types, without the byte order before them.
constexpr std::array<std::pair<std::string_view, ElementType>, 12> types{{{"b1", ElementType::BOOL},
                                                                          {"i1", ElementType::I8},
                                                                          {"u1", ElementType::U8},
                                                                          {"i2", ElementType::I16},
                                                                          {"u2", ElementType::U16},
                                                                          {"i4", ElementType::I32},
                                                                          {"u4", ElementType::U32},
                                                                          {"i8", ElementType::I64},
                                                                          {"u8", ElementType::U64},
                                                                          {"f2", ElementType::F16},
                                                                          {"f4", ElementType::F32},
                                                                          {"f8", ElementType::F64}}};

std::string refusal_of(const std::string& label, const std::string& descr, const std::string& expected) {
  return label + ": descr is " + in_quotes(descr) + ", expected " + expected;
}

void set_type(StoredTensor& t, const std::string& descr) {
  const char order = descr.size() == 3 ? descr[0] : '?';
  const auto type =
      std::ranges::find(types, std::string_view(descr).substr(descr.empty() ? 0 : 1), [](const auto& x) { return x.first; });
  const bool fits =
      type != types.end() && (bytes_of(type->second) == 1 ? order == '|' : order == '<' || order == '>' || order == '=');
  if (!fits && (descr.ends_with("V1") || descr.ends_with("V2") || descr.ends_with("f1"))) {
    throw std::runtime_error(refusal_of(t.label, descr,
                                        "float32, or a .safetensors file of attoscope.save_safetensors, since NumPy does "
                                        "not keep the type of an array of ml_dtypes (JAX)"));
  }
  if (!fits)
    throw std::runtime_error(refusal_of(t.label, descr, "f2, f4, f8, i2 to i8 or u2 to u8 after < or >, |i1, |u1 or |b1"));
  t.type = type->second;
  t.big_endian = order == '>' || (order == '=' && std::endian::native == std::endian::big);
}

/// C-ordered little-endian numbers; `shape` in Python's notation, "(1024, 64)".
template <class T>
std::string file_bytes(const std::string& shape, std::span<const T> values) {
  std::string header = "{'descr': '<f" + std::to_string(sizeof(T)) + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize((10 + header.size()) / 64 * 64 + 64 - 10 - 1, ' ');  // data must begin at a multiple of 64
  header += '\n';
  std::string bytes(magic);
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  bytes += header;
  static_assert(std::endian::native == std::endian::little);
  const std::size_t begin = bytes.size();
  bytes.resize(begin + values.size_bytes());
  if (!values.empty()) std::memcpy(bytes.data() + begin, values.data(), values.size_bytes());
  return bytes;
}

template <class T>
std::string matrix_bytes(int rows, int cols, const T* values) {
  const std::size_t count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
  return file_bytes("(" + std::to_string(rows) + ", " + std::to_string(cols) + ")", std::span(values, count));
}

/// Reads the header of `file`: b1, i1 to i8, u1 to u8, f2, f4 or f8 of either byte order, C or Fortran order. Throws
/// std::runtime_error with one sentence that names the file, the key, the value and what was expected.
StoredTensor read_npy(const InputFile& file) {
  const Place place = header_place(file);
  std::string text(place.length, '\0');
  file.read_at(place.begin, text);
  Header header = HeaderReader(text, file.path()).read();
  if (!header.descr || !header.fortran_order || !header.shape) {
    throw std::runtime_error(file.path() + ": header lacks one of descr, fortran_order and shape");
  }
  StoredTensor t{.label = file.path(),
                 .fortran_order = *header.fortran_order,
                 .shape = std::move(*header.shape),
                 .offset = place.begin + place.length,
                 .tells_format = false};
  set_type(t, *header.descr);
  const std::uint64_t expected = byte_count(t.shape, bytes_of(t.type), t.label);
  if (file.size() - t.offset == expected) return t;
  throw std::runtime_error(t.label + ": holds " + std::to_string(file.size() - t.offset) + " bytes of data, expected " +
                           std::to_string(expected) + " for shape " + shape_text(t.shape) + " of " + *header.descr);
}

/// One sentence why the tensor's type is not allowed for Q, K, V or O; "": it is allowed.
std::string why_not_of_a_call(const StoredTensor& t) {
  if (!is_index_type(t.type)) return "";
  const auto* const type = std::ranges::find(types, t.type, [](const auto& x) { return x.second; });
  const char* const order = t.type == ElementType::BOOL ? "|" : t.big_endian ? ">" : "<";
  return refusal_of(t.label, order + std::string(type->first), "f2, f4 or f8 after < or >, |i1 or |u1");
}

/// The tensor of a .npy file.
NamedTensor npy_tensor(const std::shared_ptr<const InputFile>& file, std::string name) {
  StoredTensor tensor = read_npy(*file);
  std::string refusal = why_not_of_a_call(tensor);
  return {std::move(name), std::string(type_name(tensor.type)), std::move(refusal), file, std::move(tensor)};
}

TensorSet list_npy(const std::shared_ptr<const InputFile>& file) { return {.tensors = {npy_tensor(file, "")}, .metadata = {}}; }

/// NumPy's .npz: a zip archive of .npy files.
TensorSet list_npz(const std::shared_ptr<const InputFile>& archive) {
  TensorSet set;
  for (const auto& file : files_in_zip(archive->path(), ".npy")) {
    std::string name = without_ending(file->path().substr(archive->path().size() + 2));  // the file's path is "PATH: NAME"
    std::ranges::replace(name, '/', '.');
    set.tensors.push_back(npy_tensor(file, std::move(name)));
  }
  return set;
}

std::uint64_t effort_of_npz(const InputFile& archive) {
  constexpr std::uint64_t largest_growth = 1032;  // bytes per compressed byte, the limit of deflate
  return largest_growth * archive.size();
}

}  // namespace

Reader npy_reader() {
  return {{".npy"}, FileKind::one, list_npy, [](const InputFile& file) { return file.size(); }};
}

Reader npz_reader() { return {{".npz"}, FileKind::archive, list_npz, effort_of_npz}; }

std::string npy_bytes(int rows, int cols, const double* values) { return matrix_bytes(rows, cols, values); }
std::string npy_bytes(int rows, int cols, const float* values) { return matrix_bytes(rows, cols, values); }
std::string npy_bytes(std::span<const double> values) { return file_bytes("(" + std::to_string(values.size()) + ",)", values); }
std::string npy_bytes(std::span<const int> shape, std::span<const double> values) {
  return file_bytes("(" + listed(shape, ", ", [](int size) { return std::to_string(size); }) + ")", values);
}
std::string npy_bytes(std::span<const float> values) { return file_bytes("(" + std::to_string(values.size()) + ",)", values); }

std::string field_npy(const Result& result, Field field) {
  const Matrix& golden = *result.golden;
  std::vector<double> values;
  values.reserve(golden.values.size());
  for (int row = 0; row < golden.rows; ++row)
    for (int col = 0; col < golden.cols; ++col) values.push_back(field_value(result, field, row, col));
  return npy_bytes(golden.rows, golden.cols, values.data());
}

}  // namespace attoscope::app
