/// S, P and the exact weights of a window of rows and keys; computed on demand, never N x N.
#pragma once

#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"

namespace attoscope {

/// A window of scores of method a: rows [first_row, first_row + rows), keys [first_key, first_key + keys), keys in file order.
struct ScoreQuestion {
  Experiment experiment;
  int first_row = 0, rows = 0, first_key = 0, keys = 0;

  friend bool operator==(const ScoreQuestion&, const ScoreQuestion&) = default;
};
inline constexpr int max_window_cells = 1 << 22;  ///< rows * keys

/// Row-major rows x keys; NaN if the row does not see the key.
struct ScoreWindow {
  ScoreQuestion question;
  std::vector<float> S;  ///< a's rounded scores, before the max is subtracted; with exp2 times the folded scale
  std::vector<float> P;  ///< a's P in P.V times all later factors of O: later alphas, the run's share in split_kv, 1 over the
                         ///< final row sum (1 if P is normalised before P.V)
  std::vector<float> weight;  ///< exact softmax weight, in golden's arithmetic
};

/// Throws std::invalid_argument if the window is empty, out of range or too large.
void check_window(const ScoreQuestion& question);

/// Throws as `compute` does; std::invalid_argument if the window is empty, out of range or too large, or if a has no scores.
ScoreWindow scores(const ScoreQuestion& question, const Options& options = {});

}  // namespace attoscope
