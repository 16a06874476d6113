/// Whole kernels as they run on a GPU: tiles, roundings, the GPU's sums and options, each with its source.
#pragma once

#include <span>
#include <string_view>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/rules.h"

namespace attoscope {

/// A kernel by name; `what` names what is not emulated.
struct KernelPreset {
  std::string_view name, what, source;
  Method method{};
  std::span<const TilesUpTo> tiles{};  ///< by d and the causal mask; empty: the method's own
  bool has_usual_tau = false;          ///< the main format decides tau
  bool is_of_8_bits = false;           ///< its main format is e4m3
};

/// All presets. Their tiles follow d and the mask, as in the kernels.
std::span<const KernelPreset> kernel_presets();

/// The preset called `name`. Throws std::invalid_argument naming it and the known ones.
const KernelPreset& kernel_preset(std::string_view name);

/// The experiment with this kernel as a. The main format becomes e4m3 for kernels of 8 bits; for others it becomes bf16 unless
/// it is bf16 or fp16.
Experiment with_kernel(Experiment e, const KernelPreset& kernel);
/// The experiment with this kernel as b; the main format stays.
Experiment with_kernel_as_b(Experiment e, const KernelPreset& kernel);

/// The name of the preset that equals `m` for this problem and main format; "": none.
std::string_view kernel_name(const Method& m, const Problem& problem, const Format& main);

// --- kernels of 2024 to 2026 with scaled roundings ---------------------------------------------------------------------

/// A scaled kernel; texts are parsed by `parse_scaling`, empty: off.
struct ScaledKernel {
  std::string_view name;
  std::string_view what;                                           ///< its method, with the differences from the kernel
  std::string_view source;                                         ///< where it was read
  std::string_view QKV{}, KV = QKV, Q = QKV, K = KV, V = KV, P{};  ///< QKV and KV: defaults of several tensors
  int block_q = 128, block_k = 128;
  int smooth_Q = 0;
  bool smooth_K = false, hadamard = false;
  bool lazy_max = false;  ///< cuDNN: the max stays while the new one exceeds it by at most 4 powers of two
  bool reverse_keys = false;
  bool fa3_tiles = false;  ///< tiles by d and mask, as FlashAttention-3 chooses them for e4m3
  Accumulator sums = Accumulator::fma, qk = sums, pv = sums;  ///< sums: default of both products
  int flush = flush_of_policy;
  Rounding rounded_P{};  ///< rounding of P if it is not scaled
};

/// All of them, in the order of menus.
std::span<const ScaledKernel> scaled_kernels();

/// The method of the kernel for main format bf16, the format of its inputs and output. `with_kernel` sets tiles that follow d
/// and the mask.
Method method_of(const ScaledKernel& kernel);

}  // namespace attoscope
