/// Attention of one row in double, with the deviations of mistaken kernels.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kernels/experiment/experiment.h"

namespace attoscope {

/// Q, K, V of one head, K by columns.
struct VariantHead {
  int n = 0, d = 0;
  std::vector<double> q, k_columns, v;  ///< n x d, d x n, n x d
};
VariantHead variant_head(int n, int d, const std::vector<double>& q, const std::vector<double>& k,
                         const std::vector<double>& v);

/// Three-pass softmax. The default of every field is the correct one; `scale` and `keys` have none.
struct SoftmaxVariant {
  double scale = 1;
  std::function<Keys(int row)> keys{};
  double softcap = 0, alibi = 0;
  bool caps_before_scale = false;  ///< softcap * tanh(q.k / softcap) * scale
  std::optional<double> sink{};
  bool divides = true;                    ///< by l
  bool subtracts_max = true;              ///< before exp
  int stale_tile = 0;                     ///< keys of a tile after which m moves; 0: m is the row's max from the start
  bool stale_O = false, stale_l = false;  ///< never rescaled by alpha
  int extra_keys = 0;                     ///< additional keys after the last, of score 0 and value 0
  int averaged_splits = 0;                ///< runs of keys whose normalised outputs are averaged; 0: one run
  int value_shift = 0;                    ///< key j is combined with the value of key j + value_shift
};

/// q.k of `row` with every key.
void products(const VariantHead& head, int row, std::vector<double>& out);

/// d values; all NaN where the row sees no key.
void attend(const VariantHead& head, const SoftmaxVariant& variant, int row, double* out);

/// The correct arithmetic of a problem.
SoftmaxVariant right_softmax(const Problem& problem);

}  // namespace attoscope
