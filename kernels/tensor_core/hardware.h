/// A real attention kernel on a GPU's tensor cores: FlashAttention forward with mma.sync (m16n8k16 for bf16 and fp16, m16n8k32
/// for e4m3) and fp32 accumulation; P is rounded to the type of Q, K and V; exp2 is the GPU's approximation. Its bits depend on
/// the device, not on this program's rules.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/stop_sign.h"
#include "kernels/gpu/device.h"

namespace attoscope {

/// Queries and keys that a thread block processes at a time. 128 x 64 reads shared memory least. But one head of 8192 queries
/// is only 64 blocks of 128, half of a large GPU: a single head is faster in blocks of 64 queries.
using HardwareTile = TileSizes;
std::span<const HardwareTile> hardware_tiles();

/// One sentence: why no GPU's kernel can compute `method` on `problem` in main format `format`; empty if a suitable device can
/// (see `why_no_hardware`).
std::string hardware_reason(const Problem& problem, const Format& format, const Method& method);

/// One sentence: why the method `hardware` cannot run on `device` (see Options::device) with head dimension d and main format
/// `format`; empty if it can, provided there is no `hardware_reason`.
std::string why_no_hardware(std::string_view device, int d, const Format& format);
/// The reason for one GPU, by its compute capability.
std::string why_no_hardware(const DeviceInfo& gpu, const Format& format);

/// The accumulator closest to the kernel's products on a GPU of this compute capability. For e4m3 it is `ada` on 8.9 and
/// `rtx50` on 12.x, whose instructions keep few bits or are modelled to keep more. Otherwise fma: the tensor cores' sums of
/// bf16 and fp16 are nearly fp32 sums; so are sums of e4m3 if ptxas implements the instruction by products of fp16 (9.0, 10.0:
/// see `product_sum`).
Accumulator hardware_sums(const Format& format, int major, int minor);

/// The emulated method closest to the kernel: flash2 `hw` with the same tile, p_exponent and exp2, and these accumulators.
Method emulation_of(const Method& hardware, Accumulator sums = Accumulator::fma);

/// Output of the kernel, and its difference from a second run.
struct HardwareRun {
  Matrix output;              ///< of `rounded_output`
  std::int64_t changed = 0;   ///< number of elements with other bits in the second run
  double run_to_run_ulp = 0;  ///< max difference of the two runs, in ulps of fp32
};

/// The number that `method` gives for x of the kernel, which is fp32: rounded as the method's output step says.
double rounded_output(const Method& method, const Format& main, float x);

/// Loader of the kernels for inputs of this format; fp16's if the method does not take the format.
LoadCode* hardware_code(const Format& format);

/// Runs `method` for the rows `rows` (ascending) of `inputs`, which are rounded to `format` first, on GPU `device`. Throws
/// std::invalid_argument if there is a `hardware_reason`, std::runtime_error if the GPU refuses, and what `stop` throws.
HardwareRun run_hardware(const Problem& problem, const Format& format, const Method& method, const Tensors& inputs,
                         const std::vector<int>& rows, int device, const StopSign& stop = {});

/// Differences between the kernel's runs, and from the emulation, in ulps as counted by `deviation`.
HardwareCheck hardware_check(const HardwareRun& run, const Matrix& emulated, const Format& format, const StopSign& stop = {});

/// Milliseconds of one launch over `heads` heads of N(0,1) inputs, best of `repeats`; format bf16, fp16 or e4m3.
double hardware_ms(int n, int d, int heads, bool causal, const Format& format, const HardwareTile& tile, int device,
                   int repeats);

// --- between hardware.cpp, which any compiler builds, and hardware.cu: codes of 16 or 8 bits in, fp32 out -----------------

/// Input of the kernel.
struct HardwareLaunch {
  std::vector<std::uint8_t> q, k, v;  ///< bytes of codes, the lower byte first; heads x rows x d, heads x n x d
  std::vector<int> rows;              ///< row of the sequence of each query, ascending
  int n = 0, d = 0, heads = 1;
  bool causal = false;
  float c = 0;      ///< scale * log2 e
  float shift = 0;  ///< P and l carry a factor 2^shift
  Format format = bf16;
  HardwareTile tile{64, 64};

  /// Number of elements of O, all heads.
  std::size_t outputs() const { return static_cast<std::size_t>(heads) * rows.size() * static_cast<std::size_t>(d); }
};

/// The launch that `run_hardware` runs.
HardwareLaunch hardware_launch(const Problem& problem, const Format& format, const Method& method, const Tensors& inputs,
                               const std::vector<int>& rows, const StopSign& stop);

/// Limits for dividing the work into launches, along queries and along keys (see LaunchPace).
struct HardwareCuts {
  float limit_ms = 5;           ///< longest time that a launch may occupy the GPU
  std::int64_t first_work = 0;  ///< work of the first launch; 0: the usual
};

/// Computes O of every query, heads x rows x d, `runs` times.
std::vector<std::vector<float>> hardware_outputs(const HardwareLaunch& x, int runs, int device, const StopSign& stop,
                                                 const HardwareCuts& cuts = {});

LoadCode hardware_code_bf16, hardware_code_fp16, hardware_code_e4m3;

/// Arguments of cudaLaunchKernel.
struct HardwareKernel {
  const void* function = nullptr;
  int threads = 0, shared_bytes = 0;
  int state_floats = 0;  ///< floats per tile of queries passed to the next launch
};
/// The kernel of one input type; `function` is null if it does not support d and tile.
HardwareKernel bf16_kernel(int d, const HardwareTile& tile);
HardwareKernel fp16_kernel(int d, const HardwareTile& tile);
HardwareKernel e4m3_kernel(int d, const HardwareTile& tile);

}  // namespace attoscope
