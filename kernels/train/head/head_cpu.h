/// Attention of many heads on the CPU, in the lanes of an instruction set.
#pragma once

#include <string_view>

#include "kernels/train/head/head.h"

namespace attoscope {

/// The training code of an instruction set that heads take.
struct HeadCode {
  void (*rounded)(const float* x, std::int64_t count, const RounderPlan<float>&, float* y) = nullptr;
  /// See TrainLanes.
  void (*count_rows)(const GradientRule<float>&, const RowsTask<float>&, void* scratch, HeadStatistics&) = nullptr;
  std::size_t (*statistics_scratch)(const GradientRule<float>&) = nullptr;
};
/// The code of the instruction set called `name` (see `train_code`, beside which it is defined).
HeadCode head_code(std::string_view name);

/// O, m and l of every head. Heads are shared among the threads of the caller's arena; `isa` is chosen as by `instruction_set`.
template <class T>
void run_heads(const HeadBatch<T>& heads, std::string_view isa = {});
/// dQ, dK and dV of every head; o, m and l as run_heads left them.
template <class T>
void run_head_gradients(const HeadGradient<T>& heads, std::string_view isa = {});

}  // namespace attoscope
