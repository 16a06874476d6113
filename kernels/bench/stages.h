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
  double float_flops = 0;   ///< useful operations of one call (4 N^2 d) in float; 0 where none are counted
  double double_flops = 0;  ///< and in double
  double vector_work =
      0;             ///< operations of one call, a number each, that take an fma's place; 0 where useful ones are the limit
  double bytes = 0;  ///< that one call reads and writes at least, where that is its limit
  double items = 0;  ///< elements of one call, where the time of one is the measure
  bool one_core = false;  ///< it runs in one thread
  std::function<void()> call{};

  double flops() const { return float_flops + double_flops; }
};

/// Measured rates of a machine, a second each, with which stages are compared.
struct MachineLimits {
  double float_fma = 0, double_fma = 0;  ///< operations of all threads, or of the GPU
  double core_fma = 0;                   ///< operations of one thread, in float
  double core_copy = 0;                  ///< bytes that one thread reads and writes when it copies an output
};
/// Limits of this machine's CPU with so many threads; takes half a second.
MachineLimits cpu_limits(int threads);

/// The least milliseconds of a call: its operations at the FMA peak, useful ones or, where these are counted, all that it
/// needs, its bytes at the rate of a copy. 0 where the stage counts neither.
double limit_ms(const Stage& stage, const MachineLimits& limits);

/// The stages of DESIGN's speed table for N(0,1) inputs of N tokens and head dimension 64, in bf16.
std::vector<Stage> stages(int n);

/// A full update of method a, b, golden value, deviations and trace on a fresh seed every time; for N = n.
Stage full_update(int n);

/// The backward passes of such an update, each alone, and the update with them.
std::vector<Stage> gradient_stages(int n);

/// Timing of the parts of such an update: the fastest of 30.
Timing parts_of_update(int n);

/// Updates after a change of one control, with the other parts remembered: each computes only its part.
std::vector<Stage> updates_of_controls(int n);

/// A full update of two methods that tensor cores add up: `hw` with sums of an H100, and of an A100.
Stage tensor_core_update(int n);

/// Full updates of two methods that store Q, K, V and P with scales, summed by fma chains: SageAttention 2 beside
/// FlashAttention-3's e4m3, and SageAttention 3 beside NVFP4.
std::vector<Stage> scaled_updates(int n);

/// Updates of one decoded token (d = 128) against so many keys, flash2 beside split_kv: after another format, which leaves the
/// drawn inputs alone, and after another number of splits, which leaves b alone to be computed.
std::vector<Stage> decode_updates(int keys);

/// Method a `hw` with `rows` query rows of n (0: all), golden value included: how cost grows with n.
Stage growth(int n, int rows);

/// Floating-point operations a second of a GPU that does nothing but fma. Throws std::runtime_error if it refuses.
double device_fma_peak(bool in_double, int device);

/// Milliseconds in which `bytes` go to a GPU or come back, the best of several.
double device_copy_ms(std::size_t bytes, bool to_device, int device);

/// A control, and the cost of changing it. Controls of the picture alone (field, colours, zoom, panels) compute nothing again.
struct Control {
  const char* name;
  std::function<void(Experiment&)> change;  ///< to another value each time
  std::vector<UpdatePart> again;            ///< in ascending order
};
std::span<const Control> controls();

}  // namespace attoscope
