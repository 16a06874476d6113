/// How well an expectation fits a loaded output, compared with how well the golden value does.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace attoscope {

/// Sums over some rows.
struct Fit {
  /// Sums of squares over the rows in which the expectation can be told from the golden value: the output's distance from the
  /// golden value and from the expectation, the expectation's from the golden value, and the product of both of the latter.
  double truth_square = 0, square = 0, apart_square = 0, along = 0;
  std::int64_t telling = 0;  ///< elements in these rows
  /// Over all rows: of the output, of its distance from the golden value, and of that from the expectation.
  double output_square = 0, error_square = 0, left_square = 0;
  double left = 0;                             ///< the same distance in units of each row's rounding error
  double largest = 0;                          ///< distance from the expectation
  double size = 0;                             ///< largest |expectation|
  std::int64_t compared = 0, unexplained = 0;  ///< NaN or infinite where a number was expected
  int rows = 0;

  void add(const Fit& x);
  /// How much smaller the root mean square becomes.
  double drop() const { return telling > 0 ? std::sqrt(truth_square / std::max(square, 1e-300)) : 0; }
  /// How much of the expected difference is in the output: 1 if it is all there.
  double share() const { return along / std::max(apart_square, 1e-300); }
  /// True if what the expectation leaves is small against the output itself.
  bool leaves_little() const { return 16 * left_square <= output_square; }
  double mean_left() const { return left / static_cast<double>(std::max<std::int64_t>(1, compared)); }
};

/// One row: `count` numbers of the output, those expected (NaN: the row sees no key) and golden; `unit`: its rounding error.
Fit fit_of_row(const double* output, const double* expected, const double* golden, int count, double unit);

}  // namespace attoscope
