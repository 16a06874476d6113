/// Sum of one block as a tensor core adds it: scalar code for a CPU or a GPU thread, any factors, any c.
///
/// Every product of two factors is exact in double. Multiplied by a power of two, it is cut by a conversion to an integer.
/// These integers and their sums, below 2^33, are exact in double as well.
#pragma once

#include <cstddef>

#include "kernels/arithmetic/accumulator.h"
#include "kernels/arithmetic/exponential.h"

namespace attoscope {

/// Rule for adding the terms of a product, with the constants derived from the factors' formats.
struct BlockSum {
  Accumulator accumulator = Accumulator::fma;
  int block = 4, aligned_bits = 23;  ///< L and F
  SumRounding rounding = SumRounding::fp32_towards_zero;
  CarryPlace carry = CarryPlace::in_the_block;
  int least_a = -126, least_b = -126, least_c = -126;  ///< smallest exponents used for alignment
  bool exact_in_float = false;                         ///< a float holds every product, within its exponent range
};

/// The rule for factors of formats a and b. A rule has one format for both; a method's variant that leaves one side unrounded
/// has fp32 there.
constexpr BlockSum block_sum(Accumulator accumulator, const TensorCoreRule& rule, const Format& a, const Format& b) {
  const Format c = rule.rounding == SumRounding::fp16_nearest_even ? fp16 : fp32;
  return {.accumulator = accumulator,
          .block = rule.block,
          .aligned_bits = rule.aligned_bits,
          .rounding = rule.rounding,
          .carry = rule.carry,
          .least_a = min_exponent(aligned_as(rule.carry, a)),
          .least_b = min_exponent(aligned_as(rule.carry, b)),
          .least_c = min_exponent(c),
          .exact_in_float = significand_bits(a) + significand_bits(b) <= 24};
}

/// Factors of a block: a[i * a_step] * b[i * b_step], i < count. They occupy consecutive places of the block from `place` on.
struct BlockFactors {
  const float *a = nullptr, *b = nullptr;
  std::ptrdiff_t a_step = 1, b_step = 1;
  int count = 0, place = 0;

  ATTOSCOPE_HOST_DEVICE_INLINE float left(int i) const { return a[i * a_step]; }
  ATTOSCOPE_HOST_DEVICE_INLINE float right(int i) const { return b[i * b_step]; }
};

/// Indices of the factors of one half of a block (`after_the_halves`), among `count` factors that start at `place`.
class HalfOfPlaces {
 public:
  ATTOSCOPE_HOST_DEVICE_INLINE HalfOfPlaces(int place, int count, int which)
      : place_(place), half_(which), before_(below(place)), count_(below(place + count) - before_) {}
  ATTOSCOPE_HOST_DEVICE_INLINE int count() const { return count_; }
  /// Index among all factors of the half's i-th factor.
  ATTOSCOPE_HOST_DEVICE_INLINE int operator[](int i) const {
    const int j = before_ + i;
    return j / 2 * 4 + 2 * half_ + j % 2 - place_;
  }

 private:
  /// Number of places of this half that are below `place`.
  ATTOSCOPE_HOST_DEVICE_INLINE int below(int place) const {
    const int past = place % 4 - 2 * half_;
    return place / 4 * 2 + (past < 0 ? 0 : past > 2 ? 2 : past);
  }
  int place_, half_, before_, count_;
};

/// One half of a block's factors.
struct HalfFactors {
  const BlockFactors& all;
  HalfOfPlaces places;
  int count;

  ATTOSCOPE_HOST_DEVICE_INLINE HalfFactors(const BlockFactors& factors, int which)
      : all(factors), places(factors.place, factors.count, which), count(places.count()) {}
  ATTOSCOPE_HOST_DEVICE_INLINE float left(int i) const { return all.left(places[i]); }
  ATTOSCOPE_HOST_DEVICE_INLINE float right(int i) const { return all.right(places[i]); }
};

namespace detail {

/// fp16 as a function, usable in GPU threads.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr Format half() { return {5, 10}; }
static_assert(half() == fp16);

inline constexpr int no_exponent = -10000;  ///< exponent of a zero: below all others

ATTOSCOPE_HOST_DEVICE_INLINE int exponent_field(float x) { return static_cast<int>(bit_as<std::uint32_t>(x) >> 23 & 255); }
ATTOSCOPE_HOST_DEVICE_INLINE bool is_finite(float x) { return exponent_field(x) != 255; }
/// Exponent used to align x (finite, not 0): at least `least`.
ATTOSCOPE_HOST_DEVICE_INLINE int aligned_exponent(float x, int least) {
  const int exponent = exponent_field(x) - 127;
  return exponent > least ? exponent : least;
}

/// x cut towards zero to fp32, with the last `dropped` mantissa bits cleared.
ATTOSCOPE_HOST_DEVICE_INLINE float cut_to_fp32(double x, int dropped) {
  const double size = x < 0 ? -x : x;
  std::uint32_t bits = Layout<float>::infinity;
  if (size < 0x1p128) {
    bits = bit_as<std::uint32_t>(static_cast<float>(size));
    if (static_cast<double>(bit_as<float>(bits)) > size) --bits;
    bits = bits >> dropped << dropped;
  }
  return bit_as<float>(bits | (x < 0 && bits != 0 ? Layout<float>::sign : 0));
}

ATTOSCOPE_HOST_DEVICE_INLINE float rounded_sum(SumRounding rounding, double sum) {
  if (sum == 0) return 0;
  if (rounding == SumRounding::fp16_nearest_even) return static_cast<float>(round(half(), sum)) + 0.0F;
  return cut_to_fp32(sum, rounding == SumRounding::e8m13_towards_zero ? 10 : 0);
}

/// x, or the NaN of tensor cores (0x7fffffff) if x is NaN.
ATTOSCOPE_HOST_DEVICE_INLINE float with_one_nan(float x) { return x != x ? bit_as<float>(std::uint32_t{0x7fffffff}) : x; }

/// The sum if a factor or c is not finite: adds the non-finite terms as IEEE does.
template <class Factors>
ATTOSCOPE_HOST_DEVICE_INLINE float special_sum(const Factors& f, float c) {
  float sum = is_finite(c) ? 0.0F : c;
  for (int i = 0; i < f.count; ++i)
    if (!is_finite(f.left(i)) || !is_finite(f.right(i))) sum = sum + f.left(i) * f.right(i);
  return with_one_nan(sum);
}

/// The largest exponent among the products; no_exponent if all are 0. Sets `finite` to false if a factor is not finite.
template <class Factors>
ATTOSCOPE_HOST_DEVICE_INLINE int largest_exponent(const BlockSum& s, const Factors& f, bool& finite) {
  int largest = no_exponent;
  for (int i = 0; i < f.count; ++i) {
    const float a = f.left(i), b = f.right(i);
    finite = finite && is_finite(a) && is_finite(b);
    const int exponent = aligned_exponent(a, s.least_a) + aligned_exponent(b, s.least_b);
    largest = a != 0 && b != 0 && exponent > largest ? exponent : largest;
  }
  return largest;
}

/// Sum of the products and c. `inside`: c is one of the aligned terms; otherwise it is added to the rounded sum.
template <class Factors>
ATTOSCOPE_HOST_DEVICE_INLINE float sum_on_top(const BlockSum& s, const Factors& f, float c, bool inside) {
  bool finite = is_finite(c);
  int exponent = largest_exponent(s, f, finite);
  if (!finite) return special_sum(f, c);
  if (inside && c != 0) {
    const int own = aligned_exponent(c, s.least_c);
    exponent = own > exponent ? own : exponent;
  }
  if (exponent == no_exponent) return inside ? 0.0F : c + 0.0F;
  const double scale = power_of_two<double>(s.aligned_bits - exponent);
  double sum = inside ? static_cast<std::int32_t>(c * scale) : 0;
  for (int i = 0; i < f.count; ++i)
    sum += static_cast<std::int32_t>(static_cast<double>(f.left(i)) * static_cast<double>(f.right(i)) * scale);
  const float result = rounded_sum(s.rounding, sum * power_of_two<double>(exponent - s.aligned_bits));
  return inside ? result : c + result;
}

/// x rounded to the type of sums.
ATTOSCOPE_HOST_DEVICE_INLINE float in_type_of_sums(const BlockSum& s, float x) {
  return s.rounding == SumRounding::fp16_nearest_even ? round(half(), x) : x;
}

/// Adds both halves. Rounding c + sum (two fp16 numbers) to fp32 first is harmless: fp32 has more than twice the bits.
ATTOSCOPE_HOST_DEVICE_NOINLINE inline float sum_of_halves(const BlockSum& s, const BlockFactors& f, float c) {
  float sum = 0;
  for (int half = 0; half < 2; ++half) sum = sum_on_top(s, HalfFactors(f, half), sum, true);
  return with_one_nan(in_type_of_sums(s, c + sum));
}

}  // namespace detail

/// The block's result, which is c of the next block: these factors (at most one block) and c added.
ATTOSCOPE_HOST_DEVICE_NOINLINE inline float next_sum(const BlockSum& s, const BlockFactors& f, float c) {
  if (s.carry == CarryPlace::after_the_halves) return detail::sum_of_halves(s, f, c);
  return detail::sum_on_top(s, f, c, s.carry == CarryPlace::in_the_block);
}

/// c as the first block of a product takes it, rounded to the type of sums.
ATTOSCOPE_HOST_DEVICE_INLINE float first_carry(const BlockSum& s, float c) { return detail::in_type_of_sums(s, c); }

/// `next_sum` for sums in fp64: a chain of fma, rounded to fp32 once. NaN has the bits of tensor cores.
ATTOSCOPE_HOST_DEVICE_NOINLINE inline float next_fp64_sum(const BlockFactors& f, float c) {
  double sum = c;
  for (int i = 0; i < f.count; ++i) sum = fused(static_cast<double>(f.left(i)), static_cast<double>(f.right(i)), sum);
  return detail::with_one_nan(static_cast<float>(sum));
}

}  // namespace attoscope
