/// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011); every element can be computed alone. The normal
/// numbers of the inputs derive from them by Box and Muller.
#pragma once

#if defined(__SSE2__) && !defined(__CUDACC__)
#include <immintrin.h>
#endif

#include "kernels/arithmetic/exponential.h"
#include "kernels/arithmetic/precision.h"

namespace attoscope {

/// The four 32-bit words of Philox4x32-10 for a 128-bit counter and a 64-bit key. U holds 64-bit unsigned integers (a number or
/// a vector); only their lower halves are used.
template <class U>
struct Philox {
  U x[4];
};

inline constexpr std::uint64_t lower_half = 0xffffffffu;

/// Product of the lower half of x and a 32-bit factor. Vectors have one instruction for it.
template <class U>
ATTOSCOPE_HOST_DEVICE_INLINE U product_of_halves(U x, std::uint32_t factor) {
#if defined(__AVX512F__)
  if constexpr (sizeof(U) == 64) return U(_mm512_mul_epu32(__m512i(x), _mm512_set1_epi64(factor)));
#elif defined(__AVX2__)
  if constexpr (sizeof(U) == 32) return U(_mm256_mul_epu32(__m256i(x), _mm256_set1_epi64x(factor)));
#elif defined(__SSE2__) && !defined(__CUDACC__)
  if constexpr (sizeof(U) == 16) return U(_mm_mul_epu32(__m128i(x), _mm_set1_epi64x(factor)));
#endif
  return (x & lower_half) * std::uint64_t{factor};
}

/// The Philox block of this counter, stream and seed. Between rounds the upper halves hold garbage, which the products ignore.
template <class U>
ATTOSCOPE_HOST_DEVICE_INLINE Philox<U> philox(U counter_low, U counter_high, std::uint64_t stream, std::uint64_t seed) {
  Philox<U> p{{counter_low, counter_high, U{} + stream, U{} + (stream >> 32)}};
  std::uint64_t key0 = seed & lower_half, key1 = seed >> 32;
  for (int round = 0; round < 10; ++round) {
    const U a = product_of_halves(p.x[0], 0xD2511F53u), b = product_of_halves(p.x[2], 0xCD9E8D57u);
    p = {{(b >> 32) ^ p.x[1] ^ key0, b, (a >> 32) ^ p.x[3] ^ key1, a}};
    key0 = (key0 + 0x9E3779B9u) & lower_half;
    key1 = (key1 + 0xBB67AE85u) & lower_half;
  }
  for (U& x : p.x) x = x & lower_half;
  return p;
}

/// A double in [0, 1) from 52 random bits: 1.bits - 1.
template <class V, class U>
ATTOSCOPE_HOST_DEVICE_INLINE V unit_interval(U high, U low) {
  const U bits = ((high << 20) | (low >> 12)) | std::uint64_t{0x3ff0000000000000u};
  return bit_as<V>(bits) - 1.0;
}

/// Step of `random_bits` for rounding `i` outside enum Step: roundings of the backward pass and of partial outputs. All values
/// of Step are below other_step(0).
ATTOSCOPE_HOST_DEVICE_INLINE constexpr Step other_step(int i) { return static_cast<Step>(128 + i); }
static_assert(static_cast<Step>(step_count) < other_step(0));

/// Number of a step in its random stream, unique per step. Recorded results use 0 to 15 for the first 16 steps, then the other
/// steps. A new Step gets a number after those.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr std::uint32_t random_number(Step step) {
  const auto i = static_cast<std::uint32_t>(step);
  const std::uint32_t recorded = 16, others = 128;
  return i < recorded ? i : i < others ? i + others : i - others + recorded;
}

/// 64 random bits for one rounding: a Philox block with counter (i, k) and stream (row, step).
ATTOSCOPE_HOST_DEVICE_INLINE std::uint64_t random_bits(std::uint64_t seed, Step step, int row, int i, int k) {
  const std::uint64_t stream = (static_cast<std::uint64_t>(row) << 32) | (0x80000000u + random_number(step));
  const Philox<std::uint64_t> p =
      philox<std::uint64_t>(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(k), stream, seed);
  return (p.x[0] << 32) | p.x[1];
}

}  // namespace attoscope
