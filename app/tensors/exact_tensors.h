/// Tensors written as .safetensors, each number with its bits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope::app {

struct ExactTensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::vector<double> values;  ///< row-major
  std::string type{};          ///< "BF16", in which they were stored before; "": unknown
};

/// The narrowest of F16, BF16, F32 and F64 that holds every number with its bits; `before` where that does.
std::string_view exact_type(const std::vector<double>& values, std::string_view before);

/// A file of these tensors, each in its `exact_type`.
std::string safetensors_bytes(const std::vector<ExactTensor>& tensors, const std::map<std::string, std::string>& metadata);

}  // namespace attoscope::app
