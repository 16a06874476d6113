/// Runs of keys or queries that a product of the backward pass leaves out or takes twice.
#pragma once

#include <optional>

#include "kernels/judge/gradient_group.h"

namespace attoscope {

/// Keys, or queries, [first, end) that count `times` times.
struct CountedRun {
  int first = 0, end = 0;
  double times = 0;
};

/// The run that explains a wrong tensor best: of keys in dQ, of queries in dK and dV; none where it explains little.
std::optional<CountedRun> counted_run(const GradientGroup& group, const TensorJudgement& wrong);

}  // namespace attoscope
