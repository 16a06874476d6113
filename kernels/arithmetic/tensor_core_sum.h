/// One dot product as a tensor core adds it up, block by block, with every term as it was aligned: the rule written plainly, in
/// integers. Faster code is compared with it.
///
/// Details that the rule's text leaves open:
/// - A zero product and a zero c take no part. A sum that is 0, whatever signs its terms had, or is rounded to 0, is +0.
/// - Subnormal factors, c and results are as exact as others; a subnormal number has the smallest exponent of its format.
/// - A sum beyond the result's largest finite number is infinity, though cutting alone would stay below it.
/// - NaN among factors or c, 0 * infinity, and infinities of both signs give NaN, always 0x7fffffff; else an infinity among
///   products and c is the result.
/// - No smallest exponent of a block: published models set one near 2^-133 in places, which only sums of fp32's subnormals see.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/arithmetic/accumulator.h"

namespace attoscope {

/// A product, or c, in a block: significand * 2^unit.
struct TensorCoreTerm {
  int index = -1;                ///< of the product in a and b; -1: c
  std::int64_t significand = 0;  ///< exact
  int unit = 0;
  int exponent = 0;          ///< the sum of its factors' exponents: the significand is not normalised
  std::int64_t aligned = 0;  ///< the kept part, in units of the block

  friend bool operator==(const TensorCoreTerm&, const TensorCoreTerm&) = default;
};
double value(const TensorCoreTerm& t);

/// One block, or half of one (`after_the_halves`): its terms other than 0, and their aligned sum.
struct TensorCoreBlock {
  std::array<TensorCoreTerm, longest_block + 1> storage;
  int count = 0;
  int exponent = 0;              ///< the largest of its terms; 0 where there is none
  int unit = 0;                  ///< 2^unit is the value of the last aligned bit
  std::int64_t sum = 0;          ///< of the aligned significands, in these units; not read if a term is not finite
  float carried = 0;             ///< c as it came in; of a half its start
  float result = 0;              ///< c of the next block; of a first half the start of the second
  std::optional<float> added{};  ///< c, where it is added to the sum once that is rounded

  std::span<const TensorCoreTerm> terms() const { return {storage.data(), static_cast<std::size_t>(count)}; }
};
/// The part of a term that was cut off: its value less its aligned value. Exact.
double lost(const TensorCoreBlock& block, const TensorCoreTerm& t);

/// The block of these factors, numbers of the rule's format and at most its block's length, on top of `c`. With a rule of
/// halves it is the second half.
TensorCoreBlock tensor_core_block(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b, float c);

/// Every block of a . b + c, in order, or every half of one; a and b are as long as each other, the last block may be short.
/// `c` is rounded to the type of sums first.
std::vector<TensorCoreBlock> tensor_core_blocks(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b,
                                                float c);

/// The result of the last of these blocks; of none, c as rounded.
float plain_tensor_core_dot(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b, float c);

/// The NaN that tensor cores return.
float tensor_core_nan();

/// The same, fast, with the bits of `plain_tensor_core_dot`; a and b hold numbers of the rule's format.
float tensor_core_dot(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b, float c);

}  // namespace attoscope
