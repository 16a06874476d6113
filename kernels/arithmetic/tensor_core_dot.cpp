#include "kernels/arithmetic/tensor_core_dot.h"

#include <algorithm>

#include "kernels/arithmetic/block_sum.h"

namespace attoscope {

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
