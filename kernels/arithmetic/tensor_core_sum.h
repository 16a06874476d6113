/// One dot product as a tensor core adds it, block by block, with every aligned term: the rule written plainly, in integers.
/// Faster code is compared with it.
///
/// Details that `accumulator.h` leaves open:
/// - Zero products and a zero c are skipped. A sum that is 0 (whatever the signs of its terms) or rounds to 0 is +0.
/// - Subnormal factors, c and results are exact; a subnormal number has the smallest exponent of its format.
/// - A sum beyond the result's largest finite number is infinity, though cutting alone would stay below it.
/// - NaN among factors or c, 0 * infinity, and infinities of both signs give NaN, always 0x7fffffff; else an infinity among
///   products and c is the result.
/// - A block's exponent has no lower limit; some published models have one near 2^-133, relevant only to fp32's subnormals.
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
  int index = -1;                ///< index of the product in a and b; -1: c
  std::int64_t significand = 0;  ///< exact
  int unit = 0;
  int exponent = 0;          ///< sum of the factors' exponents; the significand is not normalised
  std::int64_t aligned = 0;  ///< the kept part, in units of 2^(the block's unit)

  friend bool operator==(const TensorCoreTerm&, const TensorCoreTerm&) = default;
};
double value(const TensorCoreTerm& t);

/// One block, or half of one (`after_the_halves`): its nonzero terms and their aligned sum.
struct TensorCoreBlock {
  std::array<TensorCoreTerm, longest_block + 1> storage;
  int count = 0;
  int exponent = 0;              ///< largest exponent of its terms; 0 if there are none
  int unit = 0;                  ///< 2^unit is the value of the last aligned bit
  std::int64_t sum = 0;          ///< sum of the aligned significands, in units of 2^unit; unset if a term is not finite
  float carried = 0;             ///< c before the block; of a half its start
  float result = 0;              ///< c of the next block; of a first half the start of the second half
  std::optional<float> added{};  ///< c, if it is added after the sum is rounded

  std::span<const TensorCoreTerm> terms() const { return {storage.data(), static_cast<std::size_t>(count)}; }
};
/// The part of a term cut off by alignment: value(t) less its aligned value. Exact.
double lost(const TensorCoreBlock& block, const TensorCoreTerm& t);

/// Every block of a . b + c in order, or every half if the rule has halves. a and b hold equally many numbers of the rule's
/// format; the last block may be short. `c` is rounded to the type of sums first.
std::vector<TensorCoreBlock> tensor_core_blocks(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b,
                                                float c);

/// Result of the last of these blocks; if a and b are empty, c as rounded. Faster than the blocks.
float tensor_core_dot(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b, float c);

}  // namespace attoscope
