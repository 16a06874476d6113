/// Deviation of one matrix from another. Every sum has a fixed order, whatever the number of threads.
#pragma once

#include <functional>

#include "kernels/experiment/matrix.h"
#include "kernels/experiment/measures.h"
#include "kernels/experiment/stop_sign.h"
#include "kernels/lanes/job.h"

namespace attoscope {

/// A matrix with data for its comparisons: sorted values, RMS and digest.
struct Measured {
  const Matrix* matrix = nullptr;
  bool sorts = true;           ///< false: Wasserstein-1 is not requested
  std::vector<double> sorted;  ///< empty if a value is not finite
  std::int64_t nonfinite = 0;
  double rms = 0;            ///< over the finite values
  std::uint64_t digest = 0;  ///< of the matrix
};

Measured measured(const Matrix& m, const StopSign& stop = {});
/// Measures without sorting the values; `wasserstein` is then NaN.
Measured unsorted(const Matrix& m, const StopSign& stop = {});
/// Sorts the values of a matrix that was measured by `unsorted`.
void sort_values(Measured& m, const StopSign& stop = {});

/// Deviation of x from a reference y of the same shape; ulps of `main` at |y|, or at 1 % of y's RMS if |y| is smaller.
Deviation deviation(const Measured& x, const Measured& y, const Format& main, const StopSign& stop = {});
/// `deviation` with NaN for Wasserstein-1; needs no sorted values.
Deviation unordered_deviation(const Measured& x, const Measured& y, const Format& main, const StopSign& stop = {});
/// Wasserstein-1 distance of x and y; NaN if one of them was not sorted by request.
double wasserstein(const Measured& x, const Measured& y, const StopSign& stop = {});

/// The parts of a comparison, computed by any device.
struct MeterParts {
  std::function<std::vector<DeviationSums>(const DeviationRule&)> chunks;  ///< in order
  std::function<double()> wasserstein;
  bool all_finite = false;  ///< both matrices are known to be finite
};
/// Deviation of rows x cols numbers from a reference with RMS y_rms, from its parts.
Deviation deviation(int rows, int cols, double y_rms, const Format& main, const MeterParts& parts);

/// Wasserstein-1 over the elements finite in both.
double paired_wasserstein(const Matrix& x, const Matrix& y, const StopSign& stop = {});

/// 64-bit hash of the values' bits in row-major order; all NaN are equal.
std::uint64_t digest(const Matrix& m, const StopSign& stop = {});
/// The hash of rows x cols numbers, from the sum of their `digest_term`.
std::uint64_t digest(int rows, int cols, std::uint64_t sum_of_terms);

}  // namespace attoscope
