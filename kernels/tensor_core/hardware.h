/// A real attention kernel on a GPU's tensor cores: FlashAttention forward by mma.sync (m16n8k16 of bf16 and fp16, m16n8k32 of
/// e4m3) with fp32 accumulation, P rounded to the type of Q, K and V, exp2 by the GPU's own approximation. Its bits depend on
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

struct DeviceInfo;

/// Queries and keys that a thread block processes at a time. 128 x 64 reads shared memory least; but one head of 8192 queries
/// is only 64 blocks of 128, half of a large GPU, so that a single head is faster in blocks of 64 queries.
using HardwareTile = TileSizes;
std::span<const HardwareTile> hardware_tiles();

/// One sentence that says why no GPU's kernel can answer `method` on `problem` in main format `format`; empty: it can on a
/// suitable device (see `why_no_hardware`).
std::string hardware_reason(const Problem& problem, const Format& format, const Method& method);

/// One sentence that says why the method `hardware` cannot run on `device` (see Options::device) with head dimension d and main
/// format `format`; empty: it can, if there is no `hardware_reason`.
std::string why_no_hardware(std::string_view device, int d, const Format& format);
/// The same of one GPU, by its compute capability.
std::string why_no_hardware(const DeviceInfo& gpu, const Format& format);

/// The accumulator closest to the kernel's products on a GPU of this compute capability, as far as a rule is known that
/// matters: of e4m3 `ada` on 8.9 and `rtx50` on 12.x, whose instructions keep few bits or are modelled to keep more. Otherwise
/// fma: the tensor cores' sums of bf16 and fp16 are nearly those of fp32, and so are those of e4m3 if ptxas makes the
/// instruction of products of fp16 (9.0, 10.0: see `product_sum`).
Accumulator hardware_sums(const Format& format, int major, int minor);

/// The emulated method that is closest to the kernel: flash2 `hw` with the same tile, p_exponent and exp2, and these sums.
Method emulation_of(const Method& hardware, Accumulator sums = Accumulator::fma);

/// The output of the kernel, and its difference from that of a second run.
struct HardwareRun {
  Matrix output;              ///< rounded to the main format where the method rounds its output, else fp32
  std::int64_t changed = 0;   ///< elements in which the second run gave other bits
  double run_to_run_ulp = 0;  ///< max difference of the two runs, in ulps of fp32
};

/// The loader of the kernels for inputs of this format, bf16 or fp16.
LoadCode* hardware_code(const Format& format);

/// `method` on the rows `rows` (ascending) of `inputs`, rounded to `format` unless they are such numbers, on the GPU `device`.
/// Throws std::invalid_argument if there is a `hardware_reason`, std::runtime_error if the GPU refuses, what `stop` throws.
HardwareRun run_hardware(const Problem& problem, const Format& format, const Method& method, const Tensors& inputs,
                         const std::vector<int>& rows, int device, const StopSign& stop = {});

/// Differences of the kernel's runs from each other and from the emulation, in ulps as `deviation` counts them.
HardwareCheck hardware_check(const HardwareRun& run, const Matrix& emulated, const Format& format, const StopSign& stop = {});

/// Milliseconds of one launch over `heads` heads of N(0,1) inputs, the best of `repeats`; format bf16, fp16 or e4m3.
double hardware_ms(int n, int d, int heads, bool causal, const Format& format, const HardwareTile& tile, int device,
                   int repeats);

// --- between hardware.cpp, which any compiler builds, and hardware.cu: codes of 16 or 8 bits in, fp32 out -----------------

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
  HardwareTile tile{64, 64};

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
