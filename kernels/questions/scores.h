/// The scores behind the output: S, P and the true weights of a window of rows and keys, computed on demand, never N x N.
#pragma once

#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"

namespace attoscope {

/// A window of scores of method a: rows [first_row, first_row + rows), keys [first_key, first_key + keys), in file order of the
/// keys.
struct ScoreQuestion {
  Experiment experiment;
  int first_row = 0, rows = 0, first_key = 0, keys = 0;

  friend bool operator==(const ScoreQuestion&, const ScoreQuestion&) = default;
};
inline constexpr int max_window_cells = 1 << 22;  ///< rows * keys

/// Row-major rows x keys; NaN where the row does not see the key.
struct ScoreWindow {
  ScoreQuestion question;
  std::vector<float> S;  ///< scores as a rounds them, before the max is subtracted; with exp2 times the scale it folds in
  std::vector<float> P;  ///< a's P as it enters P.V, times all later factors of O: the later alphas, split_kv's share of the
                         ///< run, 1 over the final row sum (1 if P is normalised before P.V)
  std::vector<float> weight;  ///< the true softmax weight, from the golden arithmetic
};

/// Throws std::invalid_argument if the window is empty, lies outside or is too large.
void check_window(const ScoreQuestion& question);

/// Throws as `compute` does, and std::invalid_argument if the window is empty, lies outside or is too large, or a has no
/// scores.
ScoreWindow scores(const ScoreQuestion& question, const Options& options = {});

}  // namespace attoscope
