#include "tests/support/recorded_products.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/support/temporary_directory.h"

namespace attoscope::testing {
namespace {

/// Bits of exponent and mantissa, and bytes, of an element.
struct RecordedElement {
  int exponent_bits, mantissa_bits, bytes;
};

RecordedElement element(const std::string& dtype) {
  if (dtype == "F16") return {5, 10, 2};
  if (dtype == "BF16") return {8, 7, 2};
  if (dtype == "F32") return {8, 23, 4};
  if (dtype == "F8_E4M3") return {4, 3, 1};
  if (dtype == "F8_E5M2") return {5, 2, 1};
  throw std::runtime_error("dtype " + dtype);
}

/// The number with these bits; recorded numbers are finite.
float decoded(const RecordedElement& e, std::uint32_t bits) {
  const std::uint32_t fraction = bits & ((1U << e.mantissa_bits) - 1), top = 1U << e.exponent_bits;
  const std::uint32_t biased = (bits >> e.mantissa_bits) & (top - 1);
  const int bias = static_cast<int>(top / 2) - 1;
  const auto significand = static_cast<double>(biased == 0 ? fraction : fraction | 1U << e.mantissa_bits);
  const double magnitude = std::ldexp(significand, static_cast<int>(biased == 0 ? 1 : biased) - bias - e.mantissa_bits);
  const bool negative = (bits >> (e.mantissa_bits + e.exponent_bits) & 1) != 0;
  return static_cast<float>(negative ? -magnitude : magnitude);
}

/// A recorded .safetensors file: its header and its data.
class File {
 public:
  explicit File(const std::string& path) : bytes_(bytes_of_file(path)) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes_.data(), sizeof length);
    header_ = nlohmann::json::parse(bytes_.substr(8, length));
    data_ = 8 + length;
  }

  bool has(const std::string& tensor) const { return header_.contains(tensor); }
  int size(const std::string& tensor, int axis) const {
    return header_.at(tensor).at("shape").at(static_cast<std::size_t>(axis));
  }

  std::vector<float> numbers(const std::string& tensor) const {
    const nlohmann::json& entry = header_.at(tensor);
    const RecordedElement e = element(entry.at("dtype"));
    const std::size_t first = entry.at("data_offsets").at(0), end = entry.at("data_offsets").at(1);
    std::vector<float> numbers;
    for (std::size_t at = first; at < end; at += static_cast<std::size_t>(e.bytes)) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, bytes_.data() + data_ + at, static_cast<std::size_t>(e.bytes));
      numbers.push_back(decoded(e, bits));
    }
    return numbers;
  }

 private:
  std::string bytes_;
  nlohmann::json header_;
  std::size_t data_ = 0;
};

RecordedProducts read(const File& file, const std::string& gpu, const std::string& format, const std::string& result) {
  RecordedProducts p{.gpu = gpu,
                     .format = format,
                     .result = result,
                     .rows = file.size(format + ".a", 0),
                     .k = file.size(format + ".a", 1),
                     .a = file.numbers(format + ".a"),
                     .b = file.numbers(format + ".b"),
                     .c = file.numbers(format + ".c"),
                     .d = file.numbers(format + ".d_" + result)};
  const bool without_c = (gpu == "h100" || gpu == "h200") && format[0] == 'e' && result == "f32";
  if (without_c) p.c.assign(p.c.size(), 0.0F);
  return p;
}

std::vector<RecordedProducts> read_all() {
  std::vector<RecordedProducts> all;
  for (const char* const gpu : {"v100", "a100", "a2", "ada", "l40s", "h100", "h200", "b200"}) {
    const File file(std::string("tests/data/tensor_cores/") + gpu + ".safetensors");
    for (const char* const format : {"fp16", "bf16", "tf32", "e4m3", "e5m2"})
      for (const char* const result : {"f32", "f16"})
        if (file.has(std::string(format) + ".d_" + result)) all.push_back(read(file, gpu, format, result));
  }
  return all;
}

}  // namespace

const std::vector<RecordedProducts>& recorded_products() {
  static const std::vector<RecordedProducts> all = read_all();
  return all;
}

bool same_but_for_sign_of_zero(float x, float y) {
  return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) || (x == 0 && y == 0);
}

}  // namespace attoscope::testing
