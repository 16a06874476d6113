/// A loaded output's errors, with their limit and their envelope.
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

/// Sums over some rows.
struct Fit {
  /// Sums of squares over the rows in which the expectation can be told from the golden value: the output's distance from the
  /// golden value and from the expectation, the expectation's from the golden value, and the product of both of the latter.
  double golden_square = 0, square = 0, apart_square = 0, along = 0;
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
  double drop() const { return telling > 0 ? std::sqrt(golden_square / std::max(square, 1e-300)) : 0; }
  /// Share of the expected difference that is in the output: 1 if it is all there.
  double share() const { return along / std::max(apart_square, 1e-300); }
  /// True if the distance from the expectation is small against the output itself.
  bool leaves_little() const { return 16 * left_square <= output_square; }
  double mean_left() const { return left / static_cast<double>(std::max<std::int64_t>(1, compared)); }
};

/// Half an ulp of 1 of a type as files name it; 0 for one unknown.
double half_epsilon(const std::string& type);

/// The loaded method a of a result, row by row of its matrices, beside b, which is emulated.
class OutputErrors {
 public:
  /// Keeps references to both.
  OutputErrors(const Result& result, const Options& options);

  const Matrix& output() const { return o_; }
  /// False if there is no limit: no error is expected.
  bool has_line() const { return limit_ > 0; }
  /// The limit: b's largest error, or that of rounding to the stored type if larger; and the largest |golden
  /// value|.
  double limit() const { return limit_; }
  double size() const { return size_; }
  /// The largest error in units of the limit.
  double ratio() const { return r_.a_error.max_abs / limit_; }
  /// True if both the largest error and the root mean square are within the limit.
  bool inside() const { return !has_more_nonfinite() && ratio() <= 2 && r_.a_error.rms <= 2 * limit_rms_; }
  /// True if the largest error is within five times that of b.
  bool subtle() const { return !has_more_nonfinite() && ratio() <= 5; }
  /// True if an element is NaN or infinite where the golden value is neither.
  bool has_more_nonfinite() const { return r_.a_error.nonfinite > r_.golden_nonfinite; }

  /// Finds the tightest rival's error in each row: scores and sums in fp32, P in D, the output as stored. If the rows are too
  /// many to be computed: its error in some of them. Throws Stopped.
  void find_envelope();

  bool is_bad(int index, int c) const { return !is_due(index, c) && !(error_at(index, c) <= 2 * limit_); }
  double error_at(int index, int c) const { return std::abs(o_(index, c) - golden_at(index, c)); }
  double golden_at(int index, int c) const { return (*r_.golden)(index, c); }
  /// Chooses rows, half where the error is largest against rounding, half spread irregularly, so that a periodic pattern of
  /// rows is not missed.
  std::vector<int> chosen(int count) const;
  /// Fit of an expectation to these rows. Throws Stopped.
  Fit fit(const ExpectedRow& expected, const std::vector<int>& indices) const;
  /// The same, where `nothing` is the golden value's fit to these rows; none where the expectation is too far off for a look at
  /// the rest: it leaves more than `most` of the error's square, and is not near the output either.
  std::optional<Fit> fit_within(double most, const Fit& nothing, const ExpectedRow& expected,
                                const std::vector<int>& indices) const;
  /// The largest error of b on a problem.
  double rival_error(Experiment e) const;
  /// Throws Stopped when cancelled.
  void check() const;

 private:
  /// True if neither the golden value nor the output is a number.
  bool is_due(int index, int c) const { return !std::isfinite(golden_at(index, c)) && !std::isfinite(o_(index, c)); }
  double excess(int index) const;
  std::vector<Fit> fits(const ExpectedRow& expected, std::span<const int> indices) const;

  const Result& r_;
  const Experiment& e_;
  const Options& options_;
  const Matrix& o_ = r_.a;
  double limit_ = 0, limit_rms_ = 0, size_ = largest_finite(r_.golden->values);
  double rounding_ = half_epsilon(e_.loaded.type);  ///< half a unit in the last place of 1, as stored
  std::vector<double> tight_rms_, tight_max_;       ///< of the tightest rival, for each row of the matrices
};

/// The slip that only rows of the last, partial tile are wrong.
std::optional<Slip> tail_slip(const Experiment& experiment, const OutputErrors& errors);

/// The cause that holds in nearly all rows with NaN or infinity, and in nearly none of the others. Throws Stopped.
std::optional<Slip> overflow_slip(const Result& result, const OutputErrors& errors);

}  // namespace attoscope
