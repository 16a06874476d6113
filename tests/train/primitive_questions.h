/// Every operation of a training device as a question with an answer: odd sizes, odd strides, any format, hard values.
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

/// Every question except attention, which has its own tests.
template <class T>
std::vector<PrimitiveQuestion<T>> primitive_questions();

/// The product of a (m x k) and b (k x n), all of them row after row without gaps.
inline MatrixProduct<float> product_of(int m, int n, int k, const float* a, const float* b, float* c) {
  return {.a = a, .a_row = k, .a_col = 1, .b = b, .b_row = n, .b_col = 1, .c = c, .c_row = n, .m = m, .n = n, .k = k};
}

/// The first place where the bits of x and y differ (all NaN count as equal), or "".
std::string difference(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace attoscope::testing
