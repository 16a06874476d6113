#include "app/tensors/stored_tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels/experiment/experiment.h"

namespace attoscope {
namespace {

constexpr std::size_t chunk_elements = std::size_t{1} << 17;

/// The number at `bytes`, `count` of them, as one integer.
std::uint64_t bits_at(const char* bytes, int count, bool big_endian) {
  std::uint64_t bits = 0;
  for (int i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[big_endian ? i : count - 1 - i]);
    bits = bits << 8 | byte;
  }
  return bits;
}

double from_f16(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const auto fraction = static_cast<double>(bits & 1023);
  double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

double number_at(const char* bytes, ElementType type, bool big_endian) {
  const std::uint64_t bits = bits_at(bytes, bytes_of(type), big_endian);
  switch (type) {
    case ElementType::F16:
      return from_f16(static_cast<std::uint32_t>(bits));
    case ElementType::BF16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
    case ElementType::F32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case ElementType::F64:
      break;
  }
  return std::bit_cast<double>(bits);
}

/// Calls take(index, value) for elements [first, first + count) in the order of the file, a chunk at a time.
template <class Take>
void for_each_element(const InputFile& file, const StoredTensor& t, std::uint64_t first, std::uint64_t count, Take take) {
  const auto width = static_cast<std::size_t>(bytes_of(t.type));
  std::vector<char> chunk(std::min<std::uint64_t>(count, chunk_elements) * width);
  for (std::uint64_t done = 0; done < count; done += chunk_elements) {
    const std::size_t now = std::min<std::uint64_t>(count - done, chunk_elements);
    file.read_at(t.offset + (first + done) * width, std::span(chunk).first(now * width));
    for (std::size_t i = 0; i < now; ++i) take(first + done + i, number_at(&chunk[i * width], t.type, t.big_endian));
  }
}

/// The head that an element of index (i0, i1), i0 fastest among the leading dimensions in Fortran order, belongs to.
std::uint64_t head_of_leading(std::uint64_t leading, const std::vector<std::uint64_t>& shape) {
  if (shape.size() < 4) return leading;
  return leading % shape[0] * shape[1] + leading / shape[0];
}

int checked_size(std::uint64_t size, int largest, const StoredTensor& t, const char* what) {
  if (size >= 1 && size <= static_cast<std::uint64_t>(largest)) return static_cast<int>(size);
  throw std::runtime_error(t.label + " has shape " + shape_text(t.shape) + ", expected " + what + " from 1 to " +
                           std::to_string(largest));
}

Extent extent_of(const StoredTensor& t) {
  const std::size_t rank = t.shape.size();
  if (rank < 2 || rank > 4) {
    throw std::runtime_error(t.label + " has shape " + shape_text(t.shape) +
                             ", expected (n, d), (head, n, d) or (batch, head, n, d)");
  }
  const std::uint64_t bytes = byte_count(t.shape, bytes_of(t.type), t.label);
  Extent e{1, checked_size(t.shape[rank - 2], max_n, t, "a number of tokens"),
           checked_size(t.shape[rank - 1], max_d, t, "a head dimension")};
  const std::uint64_t heads = bytes / static_cast<std::uint64_t>(bytes_of(t.type)) / t.shape[rank - 2] / t.shape[rank - 1];
  e.heads = checked_size(heads, 1 << 20, t, "a number of heads");
  return e;
}

}  // namespace

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < std::min<std::size_t>(shape.size(), 8); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + (shape.size() > 8 ? ", ...]" : "]");
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

Extent common_extent(const std::array<StoredTensor, 3>& qkv) {
  const Extent extent = extent_of(qkv[0]);
  for (const StoredTensor& t : qkv) {
    if (t.shape == qkv[0].shape) continue;
    throw std::runtime_error(t.label + " has shape " + shape_text(t.shape) + ", expected that of q, " +
                             shape_text(qkv[0].shape));
  }
  return extent;
}

std::vector<double> read_matrix(const InputFile& file, const StoredTensor& tensor, const Extent& extent, int head) {
  const auto n = static_cast<std::uint64_t>(extent.n), d = static_cast<std::uint64_t>(extent.d);
  const auto heads = static_cast<std::uint64_t>(extent.heads), wanted = static_cast<std::uint64_t>(head);
  std::vector<double> matrix(n * d);
  if (!tensor.fortran_order) {
    for_each_element(file, tensor, wanted * n * d, n * d, [&](std::uint64_t i, double x) { matrix[i - wanted * n * d] = x; });
    return matrix;
  }
  for_each_element(file, tensor, 0, heads * n * d, [&](std::uint64_t i, double x) {
    if (head_of_leading(i % heads, tensor.shape) != wanted) return;
    const std::uint64_t row = i / heads % n, col = i / heads / n;
    matrix[row * d + col] = x;
  });
  return matrix;
}

}  // namespace attoscope
