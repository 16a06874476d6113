/// Writes tensors bit-exactly as .safetensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attoscope::app {

struct ExactTensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::vector<double> values;  ///< row-major
  std::string type{};          ///< "BF16", the type in the file that the values come from; "": unknown
};

/// `before` if it holds every value exactly, else the narrowest of F16, BF16, F32 and F64 that does.
std::string_view exact_type(const std::vector<double>& values, std::string_view before);

/// Names and texts of a file's metadata, in the order of its header.
using FileMetadata = std::vector<std::pair<std::string, std::string>>;

/// Bytes of a .safetensors file with these tensors, each in its `exact_type`.
std::string safetensors_bytes(const std::vector<ExactTensor>& tensors, const FileMetadata& metadata);

}  // namespace attoscope::app
