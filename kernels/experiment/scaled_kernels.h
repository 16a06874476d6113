/// Kernels of 2024 to 2026 with scaled roundings, by name: their storage, the changes before it, and their computation.
#pragma once

#include <span>
#include <string_view>

#include "kernels/experiment/method.h"

namespace attoscope {

/// A scaled kernel; texts are those of `parse_scaling`, empty for off.
struct ScaledKernel {
  std::string_view name;
  std::string_view what;    ///< its method, with the differences from the kernel
  std::string_view source;  ///< where it was read
  std::string_view QKV{}, Q{}, K{}, V{}, P{};  ///< QKV: of all three
  int block_q = 128, block_k = 128;
  int smooth_Q = 0;
  bool smooth_K = false, hadamard = false;
  bool lazy_max = false;  ///< the max stays while the new one exceeds it by at most 4 powers of two: cuDNN's
  bool reverse_keys = false;
  bool fa3_tiles = false;  ///< tiles by d and mask, as FlashAttention-3 chooses them for e4m3
  Accumulator qk = Accumulator::fma, pv = Accumulator::fma;
  int flush = flush_of_policy;
  Rounding rounded_P{};  ///< where P is not scaled
};

/// All of them, in the order of menus.
std::span<const ScaledKernel> scaled_kernels();

/// The method of that kernel: main format bf16, in which its inputs come and its output leaves. Where tiles follow d and the
/// mask, `with_kernel` (kernel_presets.h) sets them.
Method method_of(const ScaledKernel& kernel);

}  // namespace attoscope
