/// Errors of a loaded output, their limit and their envelope.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"
#include "kernels/slips/slip_suspects.h"
#include "kernels/slips/slips.h"

namespace attoscope {

/// Sums that fit an expectation to some rows.
struct Fit {
  /// Sums of squares over the rows in which expectation and golden value differ enough: of output - golden, output -
  /// expectation and expectation - golden; `along` is the sum of the products (output - golden) (expectation - golden).
  double golden_square = 0, square = 0, apart_square = 0, along = 0;
  std::int64_t telling = 0;  ///< elements in these rows
  /// Sums of squares over all rows: of output, output - golden and output - expectation.
  double output_square = 0, error_square = 0, left_square = 0;
  double left = 0;                             ///< sum of squared distances from the expectation, per row's rounding error
  double largest = 0;                          ///< largest distance from the expectation
  double size = 0;                             ///< largest |expectation|
  std::int64_t compared = 0, unexplained = 0;  ///< unexplained: NaN or infinite although the expectation is a number
  int rows = 0;

  void add(const Fit& x);
  /// Factor by which the expectation reduces the root mean square error.
  double drop() const { return telling > 0 ? std::sqrt(golden_square / std::max(square, 1e-300)) : 0; }
  /// Share of the expected difference that the output has: 1 if it has all of it.
  double share() const { return along / std::max(apart_square, 1e-300); }
  /// True if the distance from the expectation is small compared with the output.
  bool leaves_little() const { return 16 * left_square <= output_square; }
  double mean_left() const { return left / static_cast<double>(std::max<std::int64_t>(1, compared)); }
};

/// Half an ulp of 1 of a type named as in files; 0 for an unknown type.
double half_epsilon(const std::string& type);

/// Errors of a result's loaded method a, row by row of its matrices, compared with its emulated method b.
class OutputErrors {
 public:
  /// Keeps references to both.
  OutputErrors(const Result& result, const Options& options);

  const Matrix& output() const { return o_; }
  /// False if there is no limit: no error is expected.
  bool has_line() const { return limit_ > 0; }
  /// The limit: the larger of b's largest error and the error of rounding to the stored type. size(): the largest |golden
  /// value|.
  double limit() const { return limit_; }
  double size() const { return size_; }
  /// Largest error in units of the limit.
  double ratio() const { return r_.a_error.max_abs / limit_; }
  /// True if neither the largest error nor the root mean square exceeds twice its limit.
  bool inside() const { return !has_more_nonfinite() && ratio() <= 2 && r_.a_error.rms <= 2 * limit_rms_; }
  /// True if the largest error is at most five times the limit.
  bool subtle() const { return !has_more_nonfinite() && ratio() <= 5; }
  /// True if an element is NaN or infinite where the golden value is neither.
  bool has_more_nonfinite() const { return r_.a_error.nonfinite > r_.golden_nonfinite; }

  /// Computes the error of the tightest rival in each row: scores and sums in fp32, P in D, the output as stored. If there are
  /// too many rows, uses its error in some of them. Throws Stopped.
  void find_envelope();

  bool is_bad(int index, int c) const { return !is_due(index, c) && !(error_at(index, c) <= 2 * limit_); }
  double error_at(int index, int c) const { return std::abs(o_(index, c) - golden_at(index, c)); }
  double golden_at(int index, int c) const { return (*r_.golden)(index, c); }
  /// Chooses rows: half with the largest errors relative to rounding, half spread irregularly, since a regular spread may miss
  /// a periodic pattern of rows.
  std::vector<int> chosen(int count) const;
  /// Fits an expectation to these rows. Throws Stopped.
  Fit fit(const ExpectedRow& expected, const std::vector<int>& indices) const;
  /// Same, but stops with none if the expectation is clearly wrong after some rows: it leaves more than `most` of the error's
  /// square and is not near the output either. `nothing` is the golden value's fit to these rows.
  std::optional<Fit> fit_within(double most, const Fit& nothing, const ExpectedRow& expected,
                                const std::vector<int>& indices) const;
  /// Largest error of b on another problem.
  double rival_error(Experiment e) const;
  /// Throws Stopped when cancelled.
  void check() const;

 private:
  /// True if both the golden value and the output are NaN or infinite.
  bool is_due(int index, int c) const { return !std::isfinite(golden_at(index, c)) && !std::isfinite(o_(index, c)); }
  double excess(int index) const;
  std::vector<Fit> fits(const ExpectedRow& expected, std::span<const int> indices) const;

  const Result& r_;
  const Experiment& e_;
  const Options& options_;
  const Matrix& o_ = r_.a;
  double limit_ = 0, limit_rms_ = 0, size_ = largest_finite(r_.golden->values);
  double rounding_ = half_epsilon(e_.loaded.type);  ///< half a unit in the last place of 1, as stored
  std::vector<double> tight_rms_, tight_max_;       ///< [row of the matrices], of the tightest rival
};

/// Names the slip that only rows of the last, partial tile are wrong.
std::optional<Slip> tail_slip(const Experiment& experiment, const OutputErrors& errors);

/// Names the cause that holds in nearly all rows with NaN or infinity, and in nearly no other rows; none if a number has an
/// error beyond the limit. Throws Stopped.
std::optional<Slip> overflow_slip(const Result& result, const OutputErrors& errors);

}  // namespace attoscope
