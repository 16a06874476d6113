/// The distance of a captured tensor from the one that its program is said to give, over what correct programs differ by.
#pragma once

#include <string>
#include <vector>

#include "kernels/model/run_comparison.h"

namespace attoscope {

/// A captured tensor beside those of several programs, rows [n, cols].
struct TensorRivals {
  std::vector<double> captured, expected, exact;
  std::vector<std::vector<double>> rivals{};  ///< the same rounding as `expected`, other orders of sums
  int cols = 0, heads = 1;
  bool in_double = false;  ///< the working type
};

/// Scales of the parts of a tensor, each a row of a head.
class RunTolerance {
 public:
  explicit RunTolerance(const TensorRivals& x);
  struct Found {
    double ratio = 0;              ///< above 1: x differs
    double whole = 0;              ///< root mean square of the parts' distances over their scales
    std::vector<int> heads, rows;  ///< that differ
  };
  /// The distance of the captured tensor from x.
  Found of(const std::vector<double>& x) const;

 private:
  std::vector<double> distances(const std::vector<double>& x, const std::vector<double>& y) const;
  double whole(const std::vector<double>& distance, int head) const;

  const TensorRivals& t_;
  std::size_t parts_ = 0;
  std::vector<double> scale_, widest_;  ///< of each part: rounding expected there, largest distance of a rival
  std::vector<double> whole_, head_whole_;
};

/// "head 3", "rows 257 to 299"; "" where all rows of all heads differ, or none.
std::string place_of_difference(const RunTolerance::Found& found, const TensorRivals& x);

}  // namespace attoscope
