/// The distance of a captured tensor from the expected one, relative to the differences between correct programs.
#pragma once

#include <string>
#include <vector>

#include "kernels/model/run_comparison.h"

namespace attoscope {

/// A captured tensor, and the same tensor of several programs, rows [n, cols].
struct TensorRivals {
  std::vector<double> captured, expected, exact;
  std::vector<std::vector<double>> rivals{};  ///< the same rounding as `expected`, other orders of sums
  int cols = 0, heads = 1;
  bool in_double = false;  ///< the working type is double
};

/// Tolerances of a tensor; a part is a row of a head.
class RunTolerance {
 public:
  explicit RunTolerance(const TensorRivals& x);
  struct Found {
    double ratio = 0;              ///< above 1: x differs
    double whole = 0;              ///< root mean square over the parts of distance over scale
    std::vector<int> heads, rows;  ///< heads and rows that differ
  };
  /// The distance of the captured tensor from x.
  Found of(const std::vector<double>& x) const;

 private:
  std::vector<double> distances(const std::vector<double>& x, const std::vector<double>& y) const;
  double whole(const std::vector<double>& distance, int head) const;

  const TensorRivals& t_;
  std::size_t parts_ = 0;
  std::vector<double> scale_, widest_;  ///< of each part: expected rounding; largest distance of a rival
  std::vector<double> whole_, head_whole_;
};

/// "head 3", "rows 257 to 299"; "" if all rows of all heads differ, or none.
std::string place_of_difference(const RunTolerance::Found& found, const TensorRivals& x);

}  // namespace attoscope
