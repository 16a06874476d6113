/// A matrix of the answer.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace attoscope {

/// i, which is not negative, as the index of a vector.
inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// first .. first + count - 1.
inline std::vector<int> numbers(int count, int first = 0) {
  std::vector<int> all(at(count));
  std::iota(all.begin(), all.end(), first);
  return all;
}

/// The largest magnitude of the finite numbers; 0 if there are none.
inline double largest_finite(const std::vector<double>& x) {
  double most = 0;
  for (const double y : x) most = std::isfinite(y) ? std::max(most, std::abs(y)) : most;
  return most;
}

/// True if no number is NaN or infinite.
inline bool all_finite(const std::vector<double>& x) {
  return std::ranges::all_of(x, [](double y) { return std::isfinite(y); });
}

/// Row-major matrix of double; values of a float computation are held exactly.
struct Matrix {
  int rows = 0, cols = 0;
  std::vector<double> values;

  double operator()(int r, int c) const { return values[static_cast<std::size_t>(r) * cols + c]; }
};

struct Digests {
  std::uint64_t golden = 0, a = 0, b = 0;  ///< of the bit patterns, row-major; all NaN are hashed alike
};

}  // namespace attoscope
