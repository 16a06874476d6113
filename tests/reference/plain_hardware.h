/// The tensor-core kernel's computation, plainly, for questions in which only the sums of products are rounded.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/tensor_core/hardware.h"
#include "kernels/tensor_core/product_rules.h"

namespace attoscope::plain {

/// A question whose scores are small integers and whose scale times log2 e is 1, so that every exponential is a power of two,
/// and every sum of them exact, with any GPU's exp2; V is N(0,1).
struct IntegerScores {
  Format format = bf16;
  int n = 100, d = 64;
  HardwareTile tile{64, 64};
  bool causal = false;
  int p_exponent = 0;
  std::uint64_t seed = 1;
};
/// Every row of it.
HardwareLaunch integer_scores(const IntegerScores& x);
/// The same as an experiment: a is the kernel's emulation with these sums, its output not rounded.
Experiment integer_experiment(const IntegerScores& x, Accumulator sums);

/// O of such a question, one head, with products added by the rule.
std::vector<float> hardware_output(const HardwareLaunch& x, const ProductRule& rule);

}  // namespace attoscope::plain
