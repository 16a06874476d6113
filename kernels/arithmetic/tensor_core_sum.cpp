#include "kernels/arithmetic/tensor_core_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/arithmetic/block_sum.h"

namespace attoscope {
namespace {

/// A finite number as significand * 2^unit, and the exponent used to align it.
struct Parts {
  std::int64_t significand = 0;
  int unit = 0, exponent = 0;
};

/// Splits x, a nonzero number of f.
Parts parts_of(const Format& f, float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), magnitude = bits & ~Layout<float>::sign;
  const int exponent = std::max(exponent_of<float>(magnitude), min_exponent(f)), unit = exponent - f.mantissa_bits;
  return {static_cast<std::int64_t>(std::ldexp(static_cast<double>(x), -unit)), unit, exponent};
}

/// significand * 2^unit as a multiple of 2^to, cut towards zero.
std::int64_t aligned(std::int64_t significand, int unit, int to) {
  if (unit >= to) return significand * (std::int64_t{1} << (unit - to));
  const int cut = to - unit;
  return cut > 62 ? 0 : significand / (std::int64_t{1} << cut);
}

/// Format of c in blocks with this rounding.
Format carry_format(SumRounding r) { return r == SumRounding::fp16_nearest_even ? fp16 : fp32; }

void add_term(TensorCoreBlock& block, int index, const Parts& p) {
  block.storage[static_cast<std::size_t>(block.count++)] = {index, p.significand, p.unit, p.exponent, 0};
}

/// Collects all nonzero terms of the block, not yet aligned.
void collect_terms(TensorCoreBlock& block, const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b) {
  const Format format = aligned_as(rule.carry, rule.factors);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == 0 || b[i] == 0) continue;
    const Parts x = parts_of(format, a[i]), y = parts_of(format, b[i]);
    add_term(block, static_cast<int>(i), {x.significand * y.significand, x.unit + y.unit, x.exponent + y.exponent});
  }
  if (rule.carry != CarryPlace::after_the_block && block.carried != 0)
    add_term(block, -1, parts_of(carry_format(rule.rounding), block.carried));
}

void add_aligned(TensorCoreBlock& block, int aligned_bits) {
  const std::span terms(block.storage.data(), static_cast<std::size_t>(block.count));
  if (terms.empty()) return;
  block.exponent = std::ranges::max(terms, {}, &TensorCoreTerm::exponent).exponent;
  block.unit = block.exponent - aligned_bits;
  for (TensorCoreTerm& t : terms) block.sum += t.aligned = aligned(t.significand, t.unit, block.unit);
}

/// sum * 2^unit rounded to the format of a block's result.
float rounded_sum(SumRounding rounding, std::int64_t sum, int unit) {
  if (sum == 0) return 0;
  const Format f = result_format(rounding);
  const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  const int exponent = static_cast<int>(std::bit_width(magnitude)) - 1 + unit;
  const int quantum = std::max(exponent, min_exponent(f)) - f.mantissa_bits, dropped = quantum - unit;
  double kept = std::ldexp(static_cast<double>(magnitude), -dropped);  // in units of the result; exact below 2^53
  kept = rounding == SumRounding::fp16_nearest_even ? std::nearbyint(kept) : std::trunc(kept);
  const double result = std::ldexp(kept, quantum);
  const float rounded = result > largest(f) ? std::numeric_limits<float>::infinity() : static_cast<float>(result);
  return sum < 0 && rounded != 0 ? -rounded : rounded;
}

/// The block of these terms and `carried`, before `add_after`.
TensorCoreBlock block_of(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b, float carried) {
  TensorCoreBlock block;
  block.carried = carried;
  const BlockFactors factors{.a = a.data(), .b = b.data(), .count = static_cast<int>(a.size())};
  if (const float special = detail::special_sum(factors, carried); special != 0) {  // NaN is not 0
    block.result = special;
    return block;
  }
  collect_terms(block, rule, a, b);
  add_aligned(block, rule.aligned_bits);
  block.result = rounded_sum(rule.rounding, block.sum, block.unit);
  return block;
}

/// Adds c to the block's result, in the type of sums.
void add_after(TensorCoreBlock& block, const TensorCoreRule& rule, float c) {
  block.added = c;
  block.result = detail::with_one_nan(round(carry_format(rule.rounding), c + block.result));
}

/// A block that is not added in halves.
TensorCoreBlock whole_block(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b, float c) {
  TensorCoreBlock block = block_of(rule, a, b, c);
  if (rule.carry == CarryPlace::after_the_block && std::isfinite(c)) add_after(block, rule, c);
  return block;
}

/// x with the places of the other half set to 0.
std::vector<float> half_of(std::span<const float> x, std::size_t half) {
  std::vector<float> kept(x.begin(), x.end());
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (i % 4 / 2 != half) kept[i] = 0;
  return kept;
}

/// Both halves of a block.
std::array<TensorCoreBlock, 2> halves_of(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b,
                                         float c) {
  const TensorCoreBlock first = block_of(rule, half_of(a, 0), half_of(b, 0), 0);
  TensorCoreBlock second = block_of(rule, half_of(a, 1), half_of(b, 1), first.result);
  add_after(second, rule, c);
  return {first, second};
}

}  // namespace

double value(const TensorCoreTerm& t) { return std::ldexp(static_cast<double>(t.significand), t.unit); }

double lost(const TensorCoreBlock& block, const TensorCoreTerm& t) {
  return value(t) - std::ldexp(static_cast<double>(t.aligned), block.unit);
}

std::vector<TensorCoreBlock> tensor_core_blocks(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b,
                                                float c) {
  std::vector<TensorCoreBlock> blocks;
  const auto length = static_cast<std::size_t>(rule.block);
  c = round(carry_format(rule.rounding), c);
  for (std::size_t at = 0; at < a.size(); at += length) {
    const std::size_t now = std::min(length, a.size() - at);
    const std::span<const float> x = a.subspan(at, now), y = b.subspan(at, now);
    if (rule.carry == CarryPlace::after_the_halves)
      for (const TensorCoreBlock& half : halves_of(rule, x, y, c)) blocks.push_back(half);
    else
      blocks.push_back(whole_block(rule, x, y, c));
    c = blocks.back().result;
  }
  return blocks;
}

float tensor_core_dot(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b, float c) {
  const BlockSum sum = block_sum(Accumulator::fma, rule, rule.factors, rule.factors);
  const auto length = static_cast<std::size_t>(rule.block);
  c = first_carry(sum, c);
  for (std::size_t at = 0; at < a.size(); at += length) {
    const std::size_t count = std::min(length, a.size() - at);
    c = next_sum(sum, {.a = a.data() + at, .b = b.data() + at, .count = static_cast<int>(count)}, c);
  }
  return c;
}

}  // namespace attoscope
