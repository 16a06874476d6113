/// Deviation of one matrix from another. Every sum has a fixed order, whatever the number of threads.
#pragma once

#include <functional>

#include "kernels/experiment/matrix.h"
#include "kernels/experiment/measures.h"
#include "kernels/experiment/stop_sign.h"
#include "kernels/lanes/job.h"

namespace attoscope {

/// A matrix with the data of its comparisons: its values sorted, RMS and digest.
struct Measured {
  const Matrix* matrix = nullptr;
  bool sorts = true;           ///< false: Wasserstein-1 is not wanted
  std::vector<double> sorted;  ///< empty where a value is not finite
  std::int64_t nonfinite = 0;
  double rms = 0;            ///< over the finite values
  std::uint64_t digest = 0;  ///< of the matrix
};

Measured measured(const Matrix& m, const StopSign& stop = {});
/// The same without its values sorted: then `wasserstein` is NaN.
Measured unsorted(const Matrix& m, const StopSign& stop = {});
/// Sorts the values of a matrix that was measured without.
void sort_values(Measured& m, const StopSign& stop = {});

/// x against the reference y, of the same shape; ulps are those of `main` at |y|, or at 1 % of y's RMS where |y| is smaller.
Deviation deviation(const Measured& x, const Measured& y, const Format& main, const StopSign& stop = {});
/// The same without Wasserstein-1, which is NaN; needs no sorted values.
Deviation unordered_deviation(const Measured& x, const Measured& y, const Format& main, const StopSign& stop = {});
/// Wasserstein-1 of both; NaN if the values of one were not to be sorted.
double wasserstein(const Measured& x, const Measured& y, const StopSign& stop = {});

/// The parts of a comparison, on any device.
struct MeterParts {
  std::function<std::vector<DeviationSums>(const DeviationRule&)> chunks;  ///< in order
  std::function<double()> wasserstein;
  bool all_finite = false;  ///< both matrices are known to be
};
/// x of rows x cols numbers against a reference with that RMS, from its parts.
Deviation deviation(int rows, int cols, double y_rms, const Format& main, const MeterParts& parts);

/// Wasserstein-1 over the elements in which both are finite.
double paired_wasserstein(const Matrix& x, const Matrix& y, const StopSign& stop = {});

/// The 64-bit hash of the values' bits in row-major order; every NaN counts as the same.
std::uint64_t digest(const Matrix& m, const StopSign& stop = {});
/// The same of rows x cols numbers, from the sum of their `digest_term`.
std::uint64_t digest(int rows, int cols, std::uint64_t sum_of_terms);

}  // namespace attoscope
