/// A chain of fma that sums a product: lists the steps that lose bits singly, and exact steps as runs.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "kernels/arithmetic/format.h"

namespace attoscope {

/// One step that loses bits, or a run of exact steps.
struct ChainPart {
  int steps = 1;                ///< number of steps in the run
  int first = 0;                ///< index of the first step
  float a = 0, b = 0;           ///< factors of the first step
  float before = 0, after = 0;  ///< the sum before the first step and after the last one
  double lost = 0;              ///< before + a * b - after; 0 for an exact run, NaN if `after` is not finite

  bool is_exact() const { return lost == 0; }
};

/// The chain of one product.
struct FmaChain {
  Format format = fp32;          ///< of the sum after each step
  std::vector<ChainPart> parts;  ///< the last parts, at most `most_chain_parts`
  int earlier_parts = 0;         ///< number of parts dropped before `parts`
  int steps = 0, losing = 0;     ///< number of all steps, and of those that lose bits
};
inline constexpr int most_chain_parts = 4096;

/// Rounds `sum` after step `step`.
using StepRounding = std::function<float(float sum, int step)>;

/// The chain start + a[0] * b[0] + a[1] * b[1] + ..., each step one fma in fp32 that `rounded` rounds to `format`.
FmaChain fma_chain(std::span<const float> a, std::span<const float> b, float start, const Format& format,
                   const StepRounding& rounded);

/// Final sum of `fma_chain`, without the list of its parts.
float fma_chain_sum(std::span<const float> a, std::span<const float> b, float start, const StepRounding& rounded);

}  // namespace attoscope
