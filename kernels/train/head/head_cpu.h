/// Attention of many heads on the CPU, in the lanes of an instruction set.
#pragma once

#include <string_view>

#include "kernels/train/head/head.h"

namespace attoscope {

/// O, m and l of every head. Heads are shared among the threads of the caller's arena; `isa` is chosen as by `instruction_set`.
template <class T>
void run_heads(const HeadBatch<T>& heads, std::string_view isa = {});
/// dQ, dK and dV of every head; o, m and l as run_heads left them.
template <class T>
void run_head_gradients(const HeadGradient<T>& heads, std::string_view isa = {});

}  // namespace attoscope
