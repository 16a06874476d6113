/// The transformer of kernels/train/model.h as formulas in double, one number after the other; its gradient, by the chain rule
/// over a list of all computed numbers. Shares only the layout of the weights with kernels/train/.
#pragma once

#include <vector>

#include "kernels/train/plan/corpus.h"
#include "kernels/train/plan/parameters.h"

namespace attoscope::plain {

struct LossAndGradient {
  double loss = 0;               ///< mean cross-entropy in nats
  std::vector<double> gradient;  ///< laid out as the weights
};
LossAndGradient transformer(const ModelShape& shape, const Parameters& parameters, const std::vector<double>& weights,
                            const Batch& batch);

}  // namespace attoscope::plain
