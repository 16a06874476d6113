/// Dot products as tensor cores add them up, fast: the bits of `plain_tensor_core_dot`.
#pragma once

#include <span>

#include "kernels/arithmetic/accumulator.h"

namespace attoscope {

/// a . b + c by the rule; a and b are as long as each other, and hold numbers of the rule's format.
float tensor_core_dot(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b, float c);

}  // namespace attoscope
