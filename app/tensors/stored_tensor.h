/// A matrix as a file stores it, and how it is read: what .safetensors and .npy have in common.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/files/files.h"

namespace attoscope {

/// Told now and then how much of what is wanted has been read, 0 .. 1; true asks to stop.
using ReadWatch = std::function<bool(double share)>;

/// I8 and U8 are numbers as they stand, F8_E8M0 powers of two.
enum class ElementType : std::uint8_t { F8_E4M3, F8_E5M2, F16, BF16, F32, F64, I8, U8, F8_E8M0 };
inline constexpr std::array<std::string_view, 9> element_type_names{"F8_E4M3", "F8_E5M2", "F16", "BF16",   "F32",
                                                                    "F64",     "I8",      "U8",  "F8_E8M0"};
inline constexpr std::array<int, 9> element_type_bytes{1, 1, 2, 2, 4, 8, 1, 1, 1};
constexpr int bytes_of(ElementType t) { return element_type_bytes[static_cast<std::size_t>(t)]; }

/// "BF16"
constexpr std::string_view type_name(ElementType t) { return element_type_names[static_cast<std::size_t>(t)]; }

/// Where a tensor of shape (n, d), (head, n, d) or (batch, head, n, d) lies in its file.
struct StoredTensor {
  std::string label;  ///< for messages: "FILE: tensor 'q'"
  ElementType type = ElementType::F32;
  bool big_endian = false;
  bool fortran_order = false;  ///< first index fastest
  std::vector<std::uint64_t> shape;
  std::uint64_t offset = 0;  ///< of the first byte
  bool tells_format = true;  ///< false: bf16 could not be said there, and F32 or F64 may hold numbers of any narrower format
};

/// What a tensor holds.
struct Extent {
  int heads = 0, n = 0, d = 0;
};

/// The bytes of a tensor of `shape`; throws, with `label`, where they do not fit 62 bits.
std::uint64_t byte_count(const std::vector<std::uint64_t>& shape, int element_bytes, const std::string& label);

/// Throws, with the file's name, where `count` matrices of numbers n x d would take more than half of the machine's memory.
void check_memory(const std::string& file, int count, int n, int d);

/// Tells `watch`, if there is one; throws std::runtime_error in a sentence where it asks to stop.
void tell(const ReadWatch& watch, double share, const std::string& label);

/// Matrix `head` (an index over the leading dimensions), row-major n x d. Throws where `watch` asks to stop.
std::vector<double> read_matrix(const InputFile& file, const StoredTensor& tensor, const Extent& extent, int head,
                                const ReadWatch& watch = {});

/// The same of a tensor of shape (n, head, d) or (batch, n, head, d), whose tokens come before its heads: one row of every
/// token. Throws where it is in Fortran order, too.
std::vector<double> read_across(const InputFile& file, const StoredTensor& tensor, int head, const ReadWatch& watch = {});

/// "[4, 1024, 64]"
std::string shape_text(const std::vector<std::uint64_t>& shape);

}  // namespace attoscope
