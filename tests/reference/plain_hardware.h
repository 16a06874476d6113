/// The tensor-core kernel's computation, written plainly, for inputs with which only the sums of products are rounded.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/tensor_core/hardware.h"
#include "kernels/tensor_core/product_rules.h"

namespace attoscope::plain {

/// An input whose scores are small integers and whose scale times log2 e is 1: every exponential is a power of two,
/// and every sum of exponentials is exact, with any GPU's exp2; V is N(0,1).
struct IntegerScores {
  Format format = bf16;
  int n = 100, d = 64;
  HardwareTile tile{64, 64};
  bool causal = false;
  int p_exponent = 0;
  std::uint64_t seed = 1;
};
/// The kernel's launch for every row of x.
HardwareLaunch integer_scores(const IntegerScores& x);
/// x as an experiment: a emulates the kernel with these sums and does not round its output.
Experiment integer_experiment(const IntegerScores& x, Accumulator sums);

/// O of an integer_scores launch of one head, with products added by the rule.
std::vector<float> hardware_output(const HardwareLaunch& x, const ProductRule& rule);

}  // namespace attoscope::plain
