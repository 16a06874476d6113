/// Every operation of a device that trains as a question with an answer: odd sizes, odd strides, any format, hard values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/train/primitives/primitives.h"

namespace attoscope::testing {

/// A question to a device; `answer` is everything that it wrote, the same for every device that follows the rule.
template <class T>
struct PrimitiveQuestion {
  std::string name;
  std::vector<double> (*answer)(Primitives<T>& on, std::uint64_t seed);
};

/// Every question but attention, which has tests of its own.
template <class T>
std::vector<PrimitiveQuestion<T>> primitive_questions();

/// The place where x and y are not the same bits (every NaN counts as one), or "".
std::string difference(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace attoscope::testing
