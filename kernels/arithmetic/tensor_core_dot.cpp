// Every product is exact in double; scaled by a power of two, cutting it is a conversion to an integer. These and their sums,
// below 2^33, are exact in double as well.
#include "kernels/arithmetic/tensor_core_dot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/arithmetic/tensor_core_sum.h"

namespace attoscope {
namespace {

constexpr int no_exponent = -10000;  ///< of a zero: below all others
constexpr int not_finite = 255;      ///< the exponent field of infinities and NaN

int exponent_field(float x) { return static_cast<int>(bit_as<std::uint32_t>(x) >> 23 & 255); }

/// The exponent that x, finite, is aligned by.
int aligned_exponent(float x, int least) { return std::max(exponent_field(x) - 127, least); }

/// The products of a block, and their exponents.
struct Products {
  std::array<double, longest_block> value;
  std::array<int, longest_block> exponent;
};

/// False where a factor is no finite number.
bool multiply(Products& p, const float* a, const float* b, int count, int least) {
  int largest_field = 0;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    p.value[at] = static_cast<double>(a[i]) * static_cast<double>(b[i]);
    const int exponent = aligned_exponent(a[i], least) + aligned_exponent(b[i], least);
    p.exponent[at] = p.value[at] == 0 ? no_exponent : exponent;
    largest_field = std::max(largest_field, std::max(exponent_field(a[i]), exponent_field(b[i])));
  }
  return largest_field != not_finite;
}

/// x, cut towards zero to fp32, with `dropped` fewer bits of mantissa.
float cut_to_fp32(double x, int dropped) {
  const double size = std::fabs(x);
  if (size >= 0x1p128) return static_cast<float>(std::copysign(std::numeric_limits<double>::infinity(), x));
  auto bits = bit_as<std::uint32_t>(static_cast<float>(size));
  if (static_cast<double>(bit_as<float>(bits)) > size) --bits;
  bits = bits >> dropped << dropped;
  return std::copysign(bit_as<float>(bits), static_cast<float>(x));
}

float rounded(SumRounding rounding, double sum) {
  if (sum == 0) return 0;
  if (rounding == SumRounding::fp16_nearest_even) return static_cast<float>(round(fp16, sum));
  return cut_to_fp32(sum, rounding == SumRounding::e8m13_towards_zero ? 10 : 0);
}

/// A block on top of c, all of it finite. An exponent of no_exponent scales zeros alone.
float add_block(const TensorCoreRule& rule, const Products& p, int count, float c, int least_of_c) {
  const bool inside = rule.carry == CarryPlace::in_the_block;
  int exponent = inside && c != 0 ? aligned_exponent(c, least_of_c) : no_exponent;
  for (int i = 0; i < count; ++i) exponent = std::max(exponent, p.exponent[static_cast<std::size_t>(i)]);
  if (exponent == no_exponent) return inside ? 0.0F : c + 0.0F;
  const double scale = power_of_two<double>(rule.aligned_bits - exponent);
  double sum = inside ? static_cast<std::int32_t>(c * scale) : 0;
  for (int i = 0; i < count; ++i) sum += static_cast<std::int32_t>(p.value[static_cast<std::size_t>(i)] * scale);
  const float result = rounded(rule.rounding, sum * power_of_two<double>(exponent - rule.aligned_bits));
  return inside ? result : c + result;
}

}  // namespace

float tensor_core_dot(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b, float c) {
  const Format type = rule.rounding == SumRounding::fp16_nearest_even ? fp16 : fp32;
  const int least = min_exponent(rule.factors), least_of_c = min_exponent(type);
  const float start = c;
  c = round(type, c);
  Products p;
  for (std::size_t at = 0; at < a.size(); at += static_cast<std::size_t>(rule.block)) {
    const int count = static_cast<int>(std::min(a.size() - at, static_cast<std::size_t>(rule.block)));
    if (!multiply(p, a.data() + at, b.data() + at, count, least) || !std::isfinite(c))
      return plain_tensor_core_dot(rule, a, b, start);
    c = add_block(rule, p, count, c, least_of_c);
  }
  return c;
}

}  // namespace attoscope
