#include "app/tensors/exact_tensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/json/json.h"
#include "app/tensors/stored_tensor.h"

namespace attoscope::app {
namespace {

/// A type with the bits of a number, which may be those of another one where it does not hold that.
struct ExactType {
  std::string_view name;
  int bytes;
  std::uint64_t (*bits)(double x);
  double (*number)(std::uint64_t bits);
};

std::uint64_t f16_bits(double x) {
  const std::uint64_t sign = std::signbit(x) ? 0x8000 : 0;
  const double size = std::fabs(x);
  if (!(size < 65536)) return sign | (std::isnan(x) ? 0x7e00U : 0x7c00U);
  if (size == 0) return sign;
  const int exponent = std::max(std::ilogb(size), -14);  // 1024 to 2047 units of the last bit, or fewer of the smallest
  return sign |
         (static_cast<std::uint64_t>(exponent + 14) * 1024 + static_cast<std::uint64_t>(std::ldexp(size, 10 - exponent)));
}
std::uint64_t f32_bits(double x) { return std::bit_cast<std::uint32_t>(static_cast<float>(x)); }
double f32_number(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }

constexpr std::array<ExactType, 4> exact_types{{
    {"F16", 2, f16_bits, [](std::uint64_t bits) { return from_f16(static_cast<std::uint32_t>(bits)); }},
    {"BF16", 2, [](double x) { return f32_bits(x) >> 16U; }, [](std::uint64_t bits) { return f32_number(bits << 16U); }},
    {"F32", 4, f32_bits, f32_number},
    {"F64", 8, [](double x) { return std::bit_cast<std::uint64_t>(x); },
     [](std::uint64_t bits) { return std::bit_cast<double>(bits); }},
}};

bool holds_all(const ExactType& type, const std::vector<double>& values) {
  return std::ranges::all_of(values, [&](double x) {
    return std::bit_cast<std::uint64_t>(type.number(type.bits(x))) == std::bit_cast<std::uint64_t>(x);
  });
}

const ExactType& narrowest(const std::vector<double>& values, std::string_view before) {
  const auto* const first = std::ranges::find(exact_types, before, &ExactType::name);
  if (first != exact_types.end() && holds_all(*first, values)) return *first;
  return *std::ranges::find_if(exact_types, [&](const ExactType& type) { return holds_all(type, values); });
}

void append(std::string& bytes, std::uint64_t number, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(number >> 8 * i & 255U);
}

}  // namespace

std::string_view exact_type(const std::vector<double>& values, std::string_view before) {
  return narrowest(values, before).name;
}

std::string safetensors_bytes(const std::vector<ExactTensor>& tensors, const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::string data;
  for (const ExactTensor& t : tensors) {
    const ExactType& type = narrowest(t.values, t.type);
    const std::size_t begin = data.size();
    for (const double x : t.values) append(data, type.bits(x), type.bytes);
    header[t.name] = {{"dtype", type.name}, {"shape", t.shape}, {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump(), file;
  text.append((8 - text.size() % 8) % 8, ' ');
  append(file, text.size(), 8);
  return file + text + data;
}

}  // namespace attoscope::app
