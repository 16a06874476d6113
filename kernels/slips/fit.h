/// Fit of an expectation to a loaded output, compared with the fit of the golden value.
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
  /// Sums of squares over all rows: of the output, of its distance from the golden value, and of its distance from the
  /// expectation.
  double output_square = 0, error_square = 0, left_square = 0;
  double left = 0;                             ///< distance from the expectation, in units of each row's rounding error
  double largest = 0;                          ///< distance from the expectation
  double size = 0;                             ///< largest |expectation|
  std::int64_t compared = 0, unexplained = 0;  ///< NaN or infinite where a number was expected
  int rows = 0;

  void add(const Fit& x);
  /// Factor by which the root mean square becomes smaller.
  double drop() const { return telling > 0 ? std::sqrt(truth_square / std::max(square, 1e-300)) : 0; }
  /// Share of the expected difference that is in the output: 1 if it is all there.
  double share() const { return along / std::max(apart_square, 1e-300); }
  /// True if the distance from the expectation is small against the output itself.
  bool leaves_little() const { return 16 * left_square <= output_square; }
  double mean_left() const { return left / static_cast<double>(std::max<std::int64_t>(1, compared)); }
};

/// Fit of one row: `count` numbers of the output, the expected ones (NaN: the row sees no key) and golden; `unit`: its rounding
/// error.
Fit fit_of_row(const double* output, const double* expected, const double* golden, int count, double unit);

}  // namespace attoscope
