#include "tests/reference/plain_tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "tests/reference/plain.h"

namespace attoscope::plain {
namespace {

struct Term {
  double value;
  int exponent;
};

int exponent(double x, const Format& f) { return std::max(std::ilogb(x), 2 - (1 << (f.exponent_bits - 1))); }

/// x rounded towards zero to `mantissa_bits` mantissa bits of fp32's 23.
float towards_zero(double x, int mantissa_bits) {
  if (std::fabs(x) >= std::ldexp(1.0, 128))
    return static_cast<float>(std::copysign(std::numeric_limits<double>::infinity(), x));
  float y = std::fabs(static_cast<float>(x));
  if (static_cast<double>(y) > std::fabs(x)) y = std::nextafter(y, 0.0F);
  const std::uint32_t cut = (1U << (23 - mantissa_bits)) - 1;
  y = std::bit_cast<float>(std::bit_cast<std::uint32_t>(y) & ~cut);
  return x < 0 ? -y : y;
}

float result(SumRounding rounding, double sum) {
  if (sum == 0) return 0;
  const float rounded = rounding == SumRounding::fp16_nearest_even
                            ? static_cast<float>(nearest(fp16, sum))
                            : towards_zero(sum, rounding == SumRounding::e8m13_towards_zero ? 13 : 23);
  return rounded == 0 ? 0 : rounded;
}

double aligned_sum(const std::vector<Term>& terms, int bits) {
  int largest = std::numeric_limits<int>::min();
  for (const Term& t : terms) largest = std::max(largest, t.exponent);
  double sum = 0;
  for (const Term& t : terms) sum += std::trunc(std::ldexp(t.value, bits - largest));
  return std::ldexp(sum, largest - bits);
}

/// Sum of a block with an infinity or a NaN: the terms that are not finite, added as IEEE 754 says; NaN is the hardware's.
/// None: all are finite.
std::optional<float> special(std::span<const float> a, std::span<const float> b, float c) {
  std::vector<float> wild;
  if (!std::isfinite(c)) wild.push_back(c);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) wild.push_back(a[i] * b[i]);
  if (wild.empty()) return {};
  const float sum = std::accumulate(wild.begin(), wild.end(), 0.0F);
  return std::isnan(sum) ? std::bit_cast<float>(0x7fffffffU) : sum;
}

/// The terms of one block, and c if it is inside, aligned, added and rounded; `f` is the factors' format.
float block(const TensorCoreRule& rule, const Format& f, std::span<const float> a, std::span<const float> b, float c) {
  if (const auto wild = special(a, b, c)) return *wild;
  std::vector<Term> terms;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != 0 && b[i] != 0)
      terms.push_back({static_cast<double>(a[i]) * static_cast<double>(b[i]), exponent(a[i], f) + exponent(b[i], f)});
  const bool inside = rule.carry != CarryPlace::after_the_block;
  const Format type = rule.rounding == SumRounding::fp16_nearest_even ? fp16 : fp32;
  if (inside && c != 0) terms.push_back({c, exponent(c, type)});
  const float sum = terms.empty() ? 0.0F : result(rule.rounding, aligned_sum(terms, rule.aligned_bits));
  return inside ? sum : c + sum;
}

/// Products 0, 1, 4, 5, ... as fp16 from 0, then 2, 3, 6, 7, ... on top, then c in fp16.
float two_halves(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b, float c) {
  std::vector<float> first_a, first_b, second_a, second_b;
  for (std::size_t i = 0; i < a.size(); ++i) {
    (i % 4 < 2 ? first_a : second_a).push_back(a[i]);
    (i % 4 < 2 ? first_b : second_b).push_back(b[i]);
  }
  const float first = block(rule, fp16, first_a, first_b, 0), both = block(rule, fp16, second_a, second_b, first);
  const float sum = static_cast<float>(nearest(fp16, static_cast<double>(c) + static_cast<double>(both)));
  return std::isnan(sum) ? std::bit_cast<float>(0x7fffffffU) : sum;
}

}  // namespace

float tensor_core_dot(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b, float c) {
  const auto length = static_cast<std::size_t>(rule.block);
  c = nearest(rule.rounding == SumRounding::fp16_nearest_even ? fp16 : fp32, c);
  for (std::size_t at = 0; at < a.size(); at += length) {
    const std::size_t count = std::min(length, a.size() - at);
    const std::span<const float> x = a.subspan(at, count), y = b.subspan(at, count);
    c = rule.carry == CarryPlace::after_the_halves ? two_halves(rule, x, y, c) : block(rule, rule.factors, x, y, c);
  }
  return c;
}

}  // namespace attoscope::plain
