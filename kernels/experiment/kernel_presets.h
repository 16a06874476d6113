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

/// The experiment with the kernel's tiles in a, as d and the mask say.
Experiment with_tiles_of(Experiment e, const KernelPreset& kernel);

/// The name of the preset that equals `m` for this problem and main format; "": none.
std::string_view kernel_name(const Method& m, const Problem& problem, const Format& main);

}  // namespace attoscope
