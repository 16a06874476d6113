/// The backward pass of one query whose q, keys, values and dO are one number each: every step's number, from a run of the
/// kernels in double.
#pragma once

#include <vector>

namespace attoscope {

/// The query. Keys k are such that its scores are `scores`.
struct BackwardRowQuestion {
  std::vector<double> scores, values;
  double q = 1, scale = 1;  ///< the score is scale q k; neither is 0
  double d_o = 1;           ///< the gradient of o; not 0
};

struct BackwardRow {
  std::vector<double> k;
  double m = 0, l = 0, L = 0, o = 0, delta = 0;
  std::vector<double> P, dP, dS, dV, dK;  ///< of every key
  std::vector<double> dQ;                 ///< the sum after every key; the last is the query's dQ
};

/// Runs `compute`. Throws std::invalid_argument as it does.
BackwardRow backward_row(const BackwardRowQuestion& question);

}  // namespace attoscope
