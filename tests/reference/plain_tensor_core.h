/// Tensor cores' sums from first principles, in double: every term, every sum of a block and every result is exact in it.
#pragma once

#include <span>

#include "kernels/arithmetic/accumulator.h"

namespace attoscope::plain {

/// a . b + c by the rule; c is rounded to the type of sums first.
float tensor_core_dot(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b, float c);

}  // namespace attoscope::plain
