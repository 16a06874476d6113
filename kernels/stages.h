/// The stages of an update, each runnable alone on prepared data: what benchmarks time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "kernels/compute.h"

namespace attoscope {

/// One thing to time.
struct Stage {
  std::string name;         ///< "golden, double"
  double flops = 0;         ///< useful operations of one call (4 N^2 d), 0 where they are not the measure
  bool in_double = false;   ///< which FMA peak it is held against
  double items = 0;         ///< elements of one call, where the time of one is the measure
  double goal_percent = 0;  ///< of the FMA peak; 0: none
  double goal_ms = 0;       ///< of one call on two cores (AVX-512); 0: none
  double goal_ns = 0;       ///< of one element on one core; 0: none
  std::function<void()> call;
};

/// The stages of DESIGN's speed table for N(0,1) inputs of N tokens and head dimension 64, in bf16.
std::vector<Stage> stages(int n);

/// A full update of method a, b, golden value, deviations and trace on a fresh seed every time; for N = n.
Stage full_update(int n);

/// Method a `hw` with `rows` query rows of n (0: all), golden value included: how cost grows with n.
Stage growth(int n, int d, int rows);

/// Floating-point operations a second of `threads` threads that do nothing but fma, the best of many short windows.
double fma_peak(bool in_double, int threads);

/// The same of a GPU. Throws std::runtime_error where it refuses.
double device_fma_peak(bool in_double, int device);

/// Milliseconds in which `bytes` go to a GPU or come back, the best of several.
double device_copy_ms(std::size_t bytes, bool to_device, int device);

}  // namespace attoscope
