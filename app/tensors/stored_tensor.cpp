#include "app/tensors/stored_tensor.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "app/words/numbers.h"
#include "kernels/experiment/experiment.h"

namespace attoscope::app {

namespace {

constexpr std::size_t chunk_elements = std::size_t{1} << 17;
/// Limit of a file in Fortran order, in bytes: its heads are interleaved, and reading one head reads all.
constexpr std::uint64_t largest_fortran_order = std::uint64_t{1} << 30;

/// OCP's e8m0: a power of two, NaN in the last code.
double from_e8m0(std::uint64_t bits) {
  return bits == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(bits) - 127);
}

double number_at(const char* bytes, ElementType type, bool big_endian) {
  const std::uint64_t bits = number_in({bytes, static_cast<std::size_t>(bytes_of(type))}, big_endian);
  switch (type) {
    case ElementType::F8_E4M3:
      return number_of(e4m3, bits);
    case ElementType::F8_E5M2:
      return number_of(e5m2, bits);
    case ElementType::F16:
      return number_of(fp16, bits);
    case ElementType::BF16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
    case ElementType::F32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case ElementType::I8:
      return static_cast<std::int8_t>(bits);
    case ElementType::F8_E8M0:
      return from_e8m0(bits);
    case ElementType::U8:
    case ElementType::BOOL:
    case ElementType::U16:
    case ElementType::U32:
    case ElementType::U64:
      return static_cast<double>(bits);
    case ElementType::I16:
      return static_cast<std::int16_t>(bits);
    case ElementType::I32:
      return static_cast<std::int32_t>(bits);
    case ElementType::I64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    case ElementType::F64:
      break;
  }
  return std::bit_cast<double>(bits);
}

/// Elements first, first + step, ... below `end` of a file.
struct Stretch {
  std::uint64_t first = 0, end = 0, step = 1;
};

/// Calls take(value) for these elements, in the order of the file, reading it in chunks.
template <class Take>
void for_each_element(const InputFile& file, const StoredTensor& t, const Stretch& wanted, const ReadWatch& watch, Take take) {
  const auto [first, end, step] = wanted;
  const auto width = static_cast<std::size_t>(bytes_of(t.type));
  std::vector<char> chunk(std::min<std::uint64_t>(end - first, chunk_elements) * width);
  std::uint64_t next = first;
  for (std::uint64_t at = first; at < end; at += chunk_elements) {
    const std::size_t now = std::min<std::uint64_t>(end - at, chunk_elements);
    tell(watch, static_cast<double>(at - first) / static_cast<double>(end - first), t.label);
    file.read_at(t.offset + at * width, std::span(chunk).first(now * width));
    for (; next < at + now; next += step) take(number_at(&chunk[(next - at) * width], t.type, t.big_endian));
  }
}

/// Index of a head's first element in Fortran order, where the first leading dimension is the fastest.
std::uint64_t leading_of_head(std::uint64_t head, const std::vector<std::uint64_t>& shape) {
  if (shape.size() < 4) return head;
  return head / shape[1] + head % shape[1] * shape[0];
}

void check_fortran_order(const StoredTensor& t) {
  const std::uint64_t bytes = byte_count(t.shape, bytes_of(t.type), t.label);
  if (bytes <= largest_fortran_order) return;
  throw std::runtime_error(t.label + " is in Fortran order and has " + std::to_string(bytes) + " bytes, expected at most " +
                           std::to_string(largest_fortran_order) + ", or C order");
}

}  // namespace

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < std::min<std::size_t>(shape.size(), 8); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + (shape.size() > 8 ? ", ...]" : "]");
}

void refuse_shape(const StoredTensor& t, const std::string& expected) {
  throw std::runtime_error(t.label + " has shape " + shape_text(t.shape) + ", expected " + expected);
}

void refuse_fortran_order(const StoredTensor& t) {
  if (t.fortran_order && std::ranges::count_if(t.shape, [](std::uint64_t size) { return size > 1; }) > 1)
    throw std::runtime_error(t.label + " is in Fortran order, expected C order");
}

std::uint64_t byte_count(const std::vector<std::uint64_t>& shape, int element_bytes, const std::string& label) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 62;
  auto bytes = static_cast<std::uint64_t>(element_bytes);
  if (std::find(shape.begin(), shape.end(), 0U) != shape.end()) return 0;
  for (const std::uint64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes) || bytes > limit) {
      throw std::runtime_error(label + " has shape " + shape_text(shape) + ", expected one that fits a file");
    }
  }
  return bytes;
}

void check_memory(const std::string& file, int count, int n, int d) {
  const double needed = 8.0 * count * n * d;
  const double there = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (needed <= there / 2) return;
  throw std::runtime_error(file + ": a head of n=" + std::to_string(n) + ", d=" + std::to_string(d) + " needs " +
                           shortest(needed) + " bytes, expected at most half of the machine's " + shortest(there));
}

void tell(const ReadWatch& watch, double share, const std::string& label) {
  if (watch && watch(share)) throw std::runtime_error(label + ": stopped before it was read");
}

std::vector<double> read_matrix(const InputFile& file, const StoredTensor& tensor, const Extent& extent, int head,
                                const ReadWatch& watch) {
  const auto n = static_cast<std::uint64_t>(extent.n), d = static_cast<std::uint64_t>(extent.d);
  const auto heads = static_cast<std::uint64_t>(extent.heads), wanted = static_cast<std::uint64_t>(head);
  if (tensor.fortran_order) check_fortran_order(tensor);
  std::vector<double> matrix(n * d);
  if (!tensor.fortran_order) {
    for_each_element(file, tensor, {wanted * n * d, (wanted + 1) * n * d}, watch,
                     [to = matrix.data()](double x) mutable { *to++ = x; });
    return matrix;
  }
  std::uint64_t row = 0, col = 0;
  for_each_element(file, tensor, {leading_of_head(wanted, tensor.shape), heads * n * d, heads}, watch, [&](double x) {
    matrix[row * d + col] = x;
    if (++row == n) {
      row = 0;
      ++col;
    }
  });
  return matrix;
}

std::vector<double> read_flat(const InputFile& file, StoredTensor tensor, std::uint64_t first, int count) {
  tensor.offset += first * static_cast<std::uint64_t>(bytes_of(tensor.type));
  tensor.shape = {1, static_cast<std::uint64_t>(count)};
  tensor.fortran_order = false;
  return read_matrix(file, tensor, {1, 1, count}, 0);
}

}  // namespace attoscope::app
