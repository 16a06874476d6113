// Models of llama.cpp: .gguf, version 2 and 3, little endian. Quantised blocks are dequantised to float as ggml does.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

#include "app/tensors/readers.h"
#include "app/words/numbers.h"
#include "kernels/experiment/settings.h"

namespace attoscope::app {
namespace {

constexpr std::uint64_t most_gguf_entries = 1 << 20, longest_gguf_text = 1 << 24, longest_gguf_header = std::uint64_t{1} << 30;
constexpr int deepest_array = 4, most_gguf_dimensions = 4;

using Bytes = std::span<const unsigned char>;

float scale_at(Bytes b, std::size_t at) { return static_cast<float>(number_of(fp16, b[at] | std::uint32_t{b[at + 1]} << 8)); }
float signed_at(Bytes b, std::size_t at) { return static_cast<float>(static_cast<signed char>(b[at])); }

/// d times 4-bit numbers, the low halves of the bytes first. Q4_0 subtracts 8 from them; Q4_1 adds a minimum.
void widen_q4_0(Bytes b, std::span<float> x) {
  const float d = scale_at(b, 0);
  for (std::size_t i = 0; i < 16; ++i) {
    x[i] = d * static_cast<float>((b[2 + i] & 15) - 8);
    x[i + 16] = d * static_cast<float>((b[2 + i] >> 4) - 8);
  }
}
void widen_q4_1(Bytes b, std::span<float> x) {
  const float d = scale_at(b, 0), least = scale_at(b, 2);
  for (std::size_t i = 0; i < 16; ++i) {
    const float low = d * static_cast<float>(b[4 + i] & 15), high = d * static_cast<float>(b[4 + i] >> 4);
    x[i] = low + least;
    x[i + 16] = high + least;
  }
}
void widen_q8_0(Bytes b, std::span<float> x) {
  const float d = scale_at(b, 0);
  for (std::size_t i = 0; i < 32; ++i) x[i] = d * signed_at(b, 2 + i);
}
/// 8 groups of 32, with 6-bit scales and minima.
void widen_q4_k(Bytes b, std::span<float> x) {
  const float d = scale_at(b, 0), least = scale_at(b, 2);
  const Bytes packed = b.subspan(4, 12);
  for (std::size_t group = 0; group < 8; ++group) {
    const bool whole = group < 4;
    const std::size_t at = group + 4, high = group - 4;
    const int scale = whole ? packed[group] & 63 : (packed[at] & 15) | packed[high] >> 6 << 4;
    const int offset = whole ? packed[at] & 63 : packed[at] >> 4 | packed[group] >> 6 << 4;
    const float by = d * static_cast<float>(scale), below = least * static_cast<float>(offset);
    for (std::size_t i = 0; i < 32; ++i) {
      const unsigned char two = b[16 + group / 2 * 32 + i];
      const float product = by * static_cast<float>(group % 2 == 0 ? two & 15 : two >> 4);
      x[group * 32 + i] = product - below;
    }
  }
}
/// 16 groups of 16 with 8-bit scales; 6-bit numbers minus 32, whose lower four and upper two bits are stored apart.
void widen_q6_k(Bytes b, std::span<float> x) {
  const float d = scale_at(b, 208);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t half = i / 128, within = i % 128, quarter = within / 32, lane = within % 32;
    const int four = b[half * 64 + within % 64] >> (quarter / 2 * 4) & 15, two = b[128 + half * 32 + lane] >> (quarter * 2) & 3;
    x[i] = d * signed_at(b, 192 + i / 16) * static_cast<float>((four | two << 4) - 32);
  }
}

/// A type of numbers; numbers of types without blocks are read as stored.
struct Type {
  std::uint32_t code = 0;
  std::string_view name;
  int numbers = 1, bytes = 0;                        ///< of a block
  void (*widen)(Bytes, std::span<float>) = nullptr;  ///< null: plain numbers
};
constexpr std::array<Type, 13> gguf_types{{{0, "F32", 1, 4},
                                           {1, "F16", 1, 2},
                                           {2, "Q4_0", 32, 18, widen_q4_0},
                                           {3, "Q4_1", 32, 20, widen_q4_1},
                                           {8, "Q8_0", 32, 34, widen_q8_0},
                                           {12, "Q4_K", 256, 144, widen_q4_k},
                                           {14, "Q6_K", 256, 210, widen_q6_k},
                                           {24, "I8", 1, 1},
                                           {25, "I16", 1, 2},
                                           {26, "I32", 1, 4},
                                           {27, "I64", 1, 8},
                                           {28, "F64", 1, 8},
                                           {30, "BF16", 1, 2}}};

/// Reads the header from its first byte to its last.
class Cursor {
 public:
  explicit Cursor(const InputFile& file) : file_(file), end_(std::min(file.size(), longest_gguf_header)) {}
  std::uint64_t at() const { return at_; }

  std::uint64_t number(int bytes) {
    std::uint64_t x = 0;
    for (int i = 0; i < bytes; ++i) x |= std::uint64_t{next()} << 8 * i;
    return x;
  }
  std::uint64_t count(const std::string& of, std::uint64_t most) {
    const std::uint64_t n = number(8);
    if (n <= most) return n;
    throw std::runtime_error(file_.path() + ": has " + std::to_string(n) + " " + of + ", expected at most " +
                             std::to_string(most));
  }
  std::string text() {
    std::string s(count("bytes in a text of the header", std::min(longest_gguf_text, end_ - at_)), '\0');
    file_.read_at(at_, s);
    at_ += s.size();
    return s;
  }

 private:
  unsigned char next() {
    if (at_ >= end_) throw std::runtime_error(file_.path() + ": ends within its header at byte " + std::to_string(at_));
    if (at_ < first_ || at_ - first_ >= held_.size()) {
      first_ = at_;
      held_.resize(std::min<std::uint64_t>(end_ - at_, 1 << 16));
      file_.read_at(first_, held_);
    }
    return static_cast<unsigned char>(held_[at_++ - first_]);
  }

  const InputFile& file_;
  std::uint64_t end_, at_ = 0, first_ = 0;
  std::string held_;
};

enum ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };
constexpr std::array<int, 13> value_bytes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

std::uint32_t value_type(Cursor& c, const std::string& label) {
  const auto type = static_cast<std::uint32_t>(c.number(4));
  if (type <= f64) return type;
  throw std::runtime_error(label + " has type " + std::to_string(type) + ", expected 0 to 12");
}
/// Reads a value as a text; skips arrays.
std::string value_of(Cursor& c, std::uint32_t type, const std::string& label, int depth) {
  if (type == string) return c.text();
  if (type == array) {
    if (depth >= deepest_array) throw std::runtime_error(label + " holds arrays more than 4 deep");
    const std::uint32_t of = value_type(c, label);
    for (std::uint64_t i = c.count("values in an array of the header", longest_gguf_header); i > 0; --i)
      value_of(c, of, label, depth + 1);
    return "";
  }
  const int bytes = value_bytes[type];
  const std::uint64_t bits = c.number(bytes);
  if (type == f32) return shortest(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  if (type == f64) return shortest(std::bit_cast<double>(bits));
  if (type == boolean) return bits != 0 ? "true" : "false";
  const bool is_signed = type == i8 || type == i16 || type == i32 || type == i64;
  const int unused = 64 - 8 * bytes;
  return is_signed ? std::to_string(static_cast<std::int64_t>(bits << unused) >> unused) : std::to_string(bits);
}

/// A list's values as texts.
std::vector<std::string> list_of(Cursor& c, const std::string& label) {
  const std::uint32_t of = value_type(c, label);
  const std::uint64_t count = c.count("values in " + label, most_gguf_entries);
  std::vector<std::string> values;
  while (values.size() < count) values.push_back(value_of(c, of, label, 1));
  return values;
}

/// `lists`: receives the lists whose keys it has.
std::map<std::string, std::string> read_metadata(Cursor& c, std::uint64_t count, const std::string& path, GgufLists* lists) {
  std::map<std::string, std::string> metadata;
  for (; count > 0; --count) {
    const std::string key = c.text(), label = path + ": key " + in_quotes(key);
    const std::uint32_t type = value_type(c, label);
    if (type == array && lists != nullptr && lists->contains(key)) {
      (*lists)[key] = list_of(c, label);
      continue;
    }
    std::string value = value_of(c, type, label, 0);
    if (type != array) metadata[key] = std::move(value);
  }
  return metadata;
}

/// A file of the blocks from `offset` on, dequantised to floats in this machine's byte order.
std::shared_ptr<const InputFile> widened(const std::shared_ptr<const InputFile>& file, const Type& type, std::uint64_t offset,
                                         std::uint64_t numbers, const std::string& label) {
  const auto read = [file, type, offset](std::uint64_t from, std::span<char> to) {
    const std::uint64_t block_bytes = sizeof(float) * static_cast<std::uint64_t>(type.numbers);
    const auto packed_bytes = static_cast<std::size_t>(type.bytes);
    std::string packed;
    std::array<float, 256> x{};
    while (!to.empty()) {
      const std::uint64_t block = from / block_bytes, within = from % block_bytes;
      const std::size_t blocks = std::min<std::uint64_t>((within + to.size() - 1) / block_bytes + 1, 1024);
      packed.resize(blocks * packed_bytes);
      file->read_at(offset + block * packed_bytes, packed);
      for (std::size_t i = 0; i < blocks; ++i) {
        type.widen({reinterpret_cast<const unsigned char*>(packed.data()) + i * packed_bytes, packed_bytes}, x);
        const std::uint64_t skipped = from % block_bytes, now = std::min<std::uint64_t>(block_bytes - skipped, to.size());
        std::memcpy(to.data(), reinterpret_cast<const char*>(x.data()) + skipped, now);
        to = to.subspan(now);
        from += now;
      }
    }
  };
  return std::make_shared<const InputFile>(label, numbers * sizeof(float), read);
}

std::vector<std::uint64_t> read_shape(Cursor& c, const std::string& label) {
  const auto rank = static_cast<std::uint32_t>(c.number(4));
  if (rank > most_gguf_dimensions)
    throw std::runtime_error(label + " has " + std::to_string(rank) + " dimensions, expected at most 4");
  std::vector<std::uint64_t> shape;
  for (std::uint32_t i = 0; i < rank; ++i) shape.push_back(c.number(8));
  std::ranges::reverse(shape);  // the first one is the fastest in the file
  return shape;
}

/// Reads the entry of a tensor; its offset counts from the beginning of the data.
NamedTensor read_entry(Cursor& c, const std::shared_ptr<const InputFile>& file) {
  const std::string name = c.text(), label = file->path() + ": tensor " + in_quotes(name);
  std::vector<std::uint64_t> shape = read_shape(c, label);
  const auto code = static_cast<std::uint32_t>(c.number(4));
  const auto known = std::ranges::find(gguf_types, code, &Type::code);
  NamedTensor t{
      name, "type " + std::to_string(code), "", file, {.label = label, .shape = std::move(shape), .offset = c.number(8)}};
  if (known != gguf_types.end()) t.dtype = known->name;
  if (known == gguf_types.end())
    t.refusal = label + " has type " + std::to_string(code) + ", expected F32, F16, BF16, Q4_0, Q4_1, Q8_0, Q4_K or Q6_K";
  else if (known->widen == nullptr)
    set_type(t);
  return t;
}

/// Makes the tensor's offset count from the file's beginning, or replaces its file by one of dequantised floats. Throws if the
/// tensor reaches beyond the data.
void place(NamedTensor& t, std::uint64_t data) {
  const auto known = std::ranges::find(gguf_types, t.dtype, &Type::name);
  if (known == gguf_types.end()) return;
  const std::vector<std::uint64_t>& shape = t.tensor.shape;
  const auto block = static_cast<std::uint64_t>(known->numbers);
  const std::uint64_t numbers = byte_count(shape, 1, t.tensor.label), row = shape.empty() ? 1 : shape.back();
  if (row % block != 0)
    throw std::runtime_error(t.tensor.label + " has rows of " + std::to_string(row) + ", expected a multiple of " +
                             std::to_string(block) + ", the block of " + t.dtype);
  const std::uint64_t bytes = byte_count({numbers / block}, known->bytes, t.tensor.label), size = t.file->size() - data;
  if (t.tensor.offset > size || bytes > size - t.tensor.offset)
    throw std::runtime_error(t.tensor.label + " has " + std::to_string(bytes) + " bytes from byte " +
                             std::to_string(t.tensor.offset) + " of the data, which has " + std::to_string(size));
  t.tensor.offset += data;
  if (known->widen == nullptr) return;
  t.file = widened(t.file, *known, std::exchange(t.tensor.offset, 0), numbers, t.tensor.label);
  t.tensor.big_endian = std::endian::native == std::endian::big;
  t.tensor.tells_format = false;
}

std::uint64_t alignment_of(const TensorSet& set, const std::string& path) {
  const auto found = set.metadata.find("general.alignment");
  if (found == set.metadata.end()) return 32;
  const auto value = to_number<std::uint32_t>(found->second);
  if (value && std::has_single_bit(*value)) return *value;
  throw std::runtime_error(path + ": general.alignment is " + in_quotes(found->second) + ", expected a power of 2");
}

/// Counts of tensors and of keys, which follow the file's version.
struct GgufCounts {
  std::uint64_t tensors = 0, keys = 0;
};
GgufCounts read_counts(Cursor& c, const InputFile& file) {
  const std::string& path = file.path();
  if (file.size() < 24 || c.number(4) != 0x46554747) throw std::runtime_error(path + ": does not begin with 'GGUF'");
  const std::uint64_t version = c.number(4);
  if (version != 2 && version != 3)
    throw std::runtime_error(path + ": is GGUF of version " + std::to_string(version) + ", expected 2 or 3, little endian");
  const std::uint64_t tensors = c.count("tensors", most_gguf_entries);
  return {tensors, c.count("keys", most_gguf_entries)};
}

TensorSet list_gguf(const std::shared_ptr<const InputFile>& file) {
  Cursor c(*file);
  const std::string& path = file->path();
  const auto [tensors, keys] = read_counts(c, *file);
  TensorSet set;
  set.metadata = read_metadata(c, keys, path, nullptr);
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    set.tensors.push_back(read_entry(c, file));
    if (!names.insert(set.tensors.back().name).second)
      throw std::runtime_error(set.tensors.back().tensor.label + " is there twice");
  }
  const std::uint64_t alignment = alignment_of(set, path), data = (c.at() + alignment - 1) / alignment * alignment;
  if (data > file->size() && tensors > 0)
    throw std::runtime_error(path + ": ends at byte " + std::to_string(file->size()) + ", expected data from byte " +
                             std::to_string(data) + " on");
  for (NamedTensor& t : set.tensors) place(t, data);
  return set;
}

}  // namespace

std::map<std::string, std::string> read_gguf_metadata(const std::string& path, GgufLists& lists) {
  const InputFile file(path);
  Cursor c(file);
  const auto [tensors, keys] = read_counts(c, file);
  return read_metadata(c, keys, path, &lists);
}

Reader gguf_reader() {
  return {{".gguf"}, FileKind::named, list_gguf, [](const InputFile& file) { return file.size(); }};
}

}  // namespace attoscope::app
