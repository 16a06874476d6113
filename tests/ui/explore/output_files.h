/// Outputs of kernels as files.
#pragma once

#include <string>
#include <vector>

#include "app/tensors/npy.h"
#include "kernels/arithmetic/format.h"
#include "tests/ui/cases.h"

namespace attoscope::testing {

/// A tensor of a file.
struct Stored {
  std::string name;
  std::vector<int> shape;
  std::vector<double> values;
};

/// A .safetensors file in bf16, which must hold all numbers exactly.
inline std::string bf16_file(const std::vector<Stored>& tensors) {
  std::string header, data;
  for (const Stored& t : tensors) {
    std::string shape;
    for (const int x : t.shape) shape += (shape.empty() ? "" : ",") + std::to_string(x);
    const std::size_t begin = data.size();
    for (const double x : t.values) {
      const auto bits = bit_as<std::uint32_t>(static_cast<float>(x)) >> 16;
      data += static_cast<char>(bits & 255), data += static_cast<char>(bits >> 8);
    }
    header += (header.empty() ? "{\"" : ",\"") + t.name + "\":{\"dtype\":\"BF16\",\"shape\":[" + shape +
              "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(data.size()) + "]}";
  }
  header += "}";
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 255);
  return length + header + data;
}

/// A .npy file of heads x n x d.
inline std::string npy_of(const std::vector<double>& values, int heads, int n, int d) {
  std::string bytes = npy_bytes(heads * n, d, values.data());
  const std::string flat = "(" + std::to_string(heads * n) + ", " + std::to_string(d) + ")",
                    deep = "(" + std::to_string(heads) + ", " + std::to_string(n) + ", " + std::to_string(d) + ")";
  const std::size_t at = bytes.find(flat);
  bytes.replace(at, flat.size(), deep);
  bytes.erase(bytes.find("   ", at + deep.size()), deep.size() - flat.size());
  return bytes;
}

}  // namespace attoscope::testing
