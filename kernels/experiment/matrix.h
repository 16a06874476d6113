/// A matrix of the answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attoscope {

/// i, which is not negative, as the index of a vector.
inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Row-major matrix of double; values of a float computation are held exactly.
struct Matrix {
  int rows = 0, cols = 0;
  std::vector<double> values;

  double operator()(int r, int c) const { return values[static_cast<std::size_t>(r) * cols + c]; }
};

struct Digests {
  std::uint64_t golden = 0, a = 0, b = 0;  ///< of the bit patterns, row-major; every NaN counts as one
};

}  // namespace attoscope
