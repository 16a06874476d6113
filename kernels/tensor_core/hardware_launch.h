/// The interface between hardware.cpp, which any compiler builds, and hardware.cu: codes of 16 or 8 bits in, fp32 out.
#pragma once

#include "kernels/tensor_core/hardware.h"

namespace attoscope {

/// The code of x in `format`, one that the kernel takes and that represents x (see `factor_code`).
std::uint16_t code_of(const Format& format, double x);
/// The number that a code stands for.
double number_of(const Format& format, std::uint16_t code);

/// One question for the kernel.
struct HardwareLaunch {
  std::vector<std::uint8_t> q, k, v;  ///< the bytes of codes, the lower one first; heads x rows x d, heads x n x d
  std::vector<int> rows;              ///< of the sequence, ascending, one a query
  int n = 0, d = 0, heads = 1;
  bool causal = false;
  float c = 0;      ///< scale * log2 e
  float shift = 0;  ///< P, and l with it, carries a factor 2^shift
  Format format = bf16;
  HardwareTile tile{};

  /// Numbers of O, of all heads.
  std::size_t outputs() const { return static_cast<std::size_t>(heads) * rows.size() * static_cast<std::size_t>(d); }
};

/// The launch of `run_hardware`.
HardwareLaunch hardware_launch(const Problem& problem, const Format& format, const Method& method, const Tensors& inputs,
                               const std::vector<int>& rows, const StopSign& stop);

/// Cuts of a question into launches, along queries and along keys (see LaunchPace).
struct HardwareCuts {
  float limit_ms = 5;           ///< longest time that a launch may hold the GPU
  std::int64_t first_work = 0;  ///< of the first launch; 0: the usual
};

/// O of every query, heads x rows x d, from each of `runs` runs.
std::vector<std::vector<float>> hardware_outputs(const HardwareLaunch& x, int runs, int device, const StopSign& stop,
                                                 const HardwareCuts& cuts = {});

LoadCode hardware_code_bf16, hardware_code_fp16;

/// Arguments of cudaLaunchKernel.
struct HardwareKernel {
  const void* function = nullptr;
  int threads = 0, shared_bytes = 0;
  int state_floats = 0;  ///< floats that a tile of queries leaves to the next launch
};
/// The kernel of one input type; `function` is null if there is none.
HardwareKernel bf16_kernel(int d, const HardwareTile& tile);
HardwareKernel fp16_kernel(int d, const HardwareTile& tile);
HardwareKernel e4m3_kernel(int d, const HardwareTile& tile);

}  // namespace attoscope
