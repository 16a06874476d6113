/// Matrices as stored in files, and functions that read them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/files/files.h"
#include "kernels/arithmetic/enum_array.h"
#include "kernels/arithmetic/format.h"

namespace attoscope::app {

/// Receives the share that has been read, 0 .. 1; returns true to stop the reading.
using ReadWatch = std::function<bool(double share)>;

/// I8 and U8 are plain integers, F8_E8M0 powers of two. Only masks, bounds and tables have the types from BOOL on.
enum class ElementType : std::uint8_t {
  F8_E4M3,
  F8_E5M2,
  F16,
  BF16,
  F32,
  F64,
  I8,
  U8,
  F8_E8M0,
  BOOL,
  I16,
  I32,
  I64,
  U16,
  U32,
  U64
};
inline constexpr EnumArray<ElementType> element_type_names{"F8_E4M3", "F8_E5M2", "F16", "BF16", "F32", "F64", "I8",  "U8",
                                                           "F8_E8M0", "BOOL",    "I16", "I32",  "I64", "U16", "U32", "U64"};
inline constexpr EnumArray<ElementType, int> element_type_bytes{1, 1, 2, 2, 4, 8, 1, 1, 1, 1, 2, 4, 8, 2, 4, 8};
constexpr bool is_index_type(ElementType t) { return t >= ElementType::BOOL; }
constexpr int bytes_of(ElementType t) { return element_type_bytes[t]; }

/// The type of this name; none: its numbers are never read.
constexpr std::optional<ElementType> type_named(std::string_view name) {
  const auto* const found = std::ranges::find(element_type_names, name);
  return found == element_type_names.end() ? std::nullopt
                                           : std::optional(static_cast<ElementType>(found - element_type_names.begin()));
}

/// The format of numbers of this floating-point type; `of_others`: of numbers of the other types.
constexpr Format format_of(ElementType t, const Format& of_others) {
  constexpr std::array formats{e4m3, e5m2, fp16, bf16, fp32, fp64};  // in the order of the types
  const auto i = static_cast<std::size_t>(t);
  return i < formats.size() ? formats[i] : of_others;
}

/// "BF16"
constexpr std::string_view type_name(ElementType t) { return element_type_names[t]; }

/// Place of a tensor of shape (n, d), (head, n, d) or (batch, head, n, d) in its file.
struct StoredTensor {
  std::string label;  ///< for messages: "FILE: tensor 'q'"
  ElementType type = ElementType::F32;
  bool big_endian = false;
  bool fortran_order = false;  ///< first index fastest
  std::vector<std::uint64_t> shape;
  std::uint64_t offset = 0;  ///< of the first byte
  bool tells_format = true;  ///< false: bf16 could not be stored, so F32 or F64 may hold numbers of any narrower format
};

/// Number of matrices in a tensor, and their size.
struct Extent {
  int heads = 0, n = 0, d = 0;
};

/// Bytes of a tensor of `shape`. Throws, with `label`, if they exceed 2^62.
std::uint64_t byte_count(const std::vector<std::uint64_t>& shape, int element_bytes, const std::string& label);

/// Throws, with the file's name, if `count` matrices n x d of double need more than half of the machine's memory.
void check_memory(const std::string& file, int count, int n, int d);

/// Calls `watch`, if set. Throws std::runtime_error with one sentence if it asks to stop.
void tell(const ReadWatch& watch, double share, const std::string& label);

/// Matrix `head` (an index over the leading dimensions), row-major n x d. Throws if `watch` asks to stop.
std::vector<double> read_matrix(const InputFile& file, const StoredTensor& tensor, const Extent& extent, int head,
                                const ReadWatch& watch = {});

/// `count` numbers of a tensor of any shape from its number `first` on, in the order of the file.
std::vector<double> read_flat(const InputFile& file, StoredTensor tensor, std::uint64_t first, int count);

/// "[4, 1024, 64]"
std::string shape_text(const std::vector<std::uint64_t>& shape);
/// Throws std::runtime_error that names the tensor, its shape and what was expected.
[[noreturn]] void refuse_shape(const StoredTensor& tensor, const std::string& expected);
/// Throws std::runtime_error that names the tensor if its numbers lie in Fortran order and not in C order as well.
void refuse_fortran_order(const StoredTensor& tensor);

}  // namespace attoscope::app
