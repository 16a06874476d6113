/// The stages of an update, each runnable alone on prepared data, for benchmarks.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/result.h"

namespace attoscope {

/// A piece of work to time.
struct Stage {
  std::string name;         ///< "golden, double"
  double float_flops = 0;   ///< useful operations of one call (4 N^2 d) in float; 0 if not counted
  double double_flops = 0;  ///< useful operations in double
  double vector_work = 0;   ///< operations per call, one number each, in slots of fma; 0 if useful operations are the limit
  double bytes = 0;         ///< minimum that one call reads and writes, if that is its limit
  double items = 0;         ///< elements per call, if the time per element is the measure
  bool one_core = false;    ///< runs in a single thread
  std::function<void()> call{};

  double flops() const { return float_flops + double_flops; }
};

/// Measured rates of a machine per second; stages are compared with them.
struct MachineLimits {
  double float_fma = 0, double_fma = 0;  ///< operations of all threads, or of the GPU
  double core_fma = 0;                   ///< operations of one thread, in float
  double core_copy = 0;                  ///< bytes that one thread reads and writes in copying an output
};
/// Measures this machine's CPU with `threads` threads; takes half a second.
MachineLimits cpu_limits(int threads);

/// The least milliseconds of a call: its operations at the FMA peak (vector_work if counted, else useful ones) plus its bytes
/// at the rate of a copy. 0 if the stage counts neither.
double limit_ms(const Stage& stage, const MachineLimits& limits);

/// The stages of an update, each alone, for N(0,1) inputs of n tokens and head dimension 64, in bf16.
std::vector<Stage> stages(int n);

/// A full update: a, b, golden value, deviations and trace, with a new seed every time; for N = n.
Stage full_update(int n);

/// The backward passes of a full update, each alone, and the update that includes them.
std::vector<Stage> gradient_stages(int n);

/// Timing of the parts of a full update: the fastest of 30.
Timing parts_of_update(int n);

/// Updates after a change of one control, with all other parts cached: each computes only the parts that depend on it.
std::vector<Stage> updates_of_controls(int n);

/// A full update of two methods with sums of tensor cores: `hw` with sums of an H100, and of an A100.
Stage tensor_core_update(int n);

/// Full updates of two methods that store Q, K, V and P with scales, summed by fma chains: SageAttention 2 and
/// FlashAttention-3's e4m3; SageAttention 3 and NVFP4.
std::vector<Stage> scaled_updates(int n);

/// Updates of one decoded token (d = 128) against `keys` keys, with flash2 as a and split_kv as b: after a change of the
/// format, which keeps the drawn inputs, and after a change of the number of splits, which requires only b.
std::vector<Stage> decode_updates(int keys);

/// Method a `hw` with `rows` query rows of n (0: all), golden value included, to measure how cost grows with n.
Stage growth(int n, int rows);

/// Floating-point operations per second of a GPU that runs only fma. Throws std::runtime_error if the GPU refuses.
double device_fma_peak(bool in_double, int device);

/// Milliseconds to copy `bytes` to a GPU or back, the best of several.
double device_copy_ms(std::size_t bytes, bool to_device, int device);

/// A control, and the parts recomputed after a change. Controls of the picture (field, colours, zoom, panels) have none.
struct Control {
  const char* name;
  std::function<void(Experiment&)> change;  ///< changes the control to a different value each time
  std::vector<UpdatePart> again;            ///< parts to recompute, in ascending order
};
std::span<const Control> controls();

}  // namespace attoscope
