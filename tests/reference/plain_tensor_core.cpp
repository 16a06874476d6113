#include "tests/reference/plain_tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/reference/plain.h"

namespace attoscope::plain {
namespace {

struct Term {
  double value;
  int exponent;
};

int exponent(double x, const Format& f) { return std::max(std::ilogb(x), 2 - (1 << (f.exponent_bits - 1))); }

/// x towards zero, with `mantissa_bits` of fp32's 23.
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
  if (rounding == SumRounding::fp16_nearest_even) return static_cast<float>(nearest(fp16, sum));
  return towards_zero(sum, rounding == SumRounding::e8m13_towards_zero ? 13 : 23);
}

double aligned_sum(const std::vector<Term>& terms, int bits) {
  int largest = std::numeric_limits<int>::min();
  for (const Term& t : terms) largest = std::max(largest, t.exponent);
  double sum = 0;
  for (const Term& t : terms) sum += std::trunc(std::ldexp(t.value, bits - largest));
  return std::ldexp(sum, largest - bits);
}

}  // namespace

float tensor_core_dot(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b, float c) {
  const Format type = rule.rounding == SumRounding::fp16_nearest_even ? fp16 : fp32;
  const auto length = static_cast<std::size_t>(rule.block);
  c = nearest(type, c);
  for (std::size_t at = 0; at < a.size(); at += length) {
    std::vector<Term> terms;
    for (std::size_t i = at; i < std::min(at + length, a.size()); ++i)
      if (a[i] != 0 && b[i] != 0)
        terms.push_back({static_cast<double>(a[i]) * static_cast<double>(b[i]),
                         exponent(a[i], rule.factors) + exponent(b[i], rule.factors)});
    const bool inside = rule.carry == CarryPlace::in_the_block;
    if (inside && c != 0) terms.push_back({c, exponent(c, type)});
    const float block = terms.empty() ? 0.0F : result(rule.rounding, aligned_sum(terms, rule.aligned_bits));
    c = inside ? block : c + block;
    if (!std::isfinite(c)) return c;
  }
  return c;
}

}  // namespace attoscope::plain
