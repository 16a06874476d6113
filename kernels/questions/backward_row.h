/// The backward pass of one query with scalar q, keys, values and dO: every step's number, computed by the kernels in double.
#pragma once

#include <vector>

namespace attoscope {

/// The query. The keys are chosen so that its scores are `scores`.
struct BackwardRowQuestion {
  std::vector<double> scores, values;
  double q = 1, scale = 1;  ///< the score is scale q k; neither is 0
  double d_o = 1;           ///< the gradient of o; not 0
};

struct BackwardRow {
  std::vector<double> k;
  double m = 0, l = 0, L = 0, o = 0, delta = 0;
  std::vector<double> P, dP, dS, dV, dK;  ///< [key]
  std::vector<double> dQ;                 ///< [key]: sum after that key; the last is the query's dQ
};

/// Runs `compute`; throws std::invalid_argument as `compute` does.
BackwardRow backward_row(const BackwardRowQuestion& question);

}  // namespace attoscope
