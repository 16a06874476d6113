/// Comparison of matrices on a GPU. Only *.cu include this.
#pragma once

#include "kernels/gpu/engine.h"
#include "kernels/gpu/gpu.h"

namespace attoscope {

/// Loads the file of its kernels on the current GPU.
void load_deviations();

/// Compares matrices on the GPU that was current when it was made, in memory that it keeps. Every function waits for its
/// result.
class DeviceMeter {
 public:
  Moments moments(const double* x, std::size_t count, const Stream& stream);
  std::vector<DeviationSums> sums(const double* x, const double* y, std::size_t count, const DeviationRule& rule,
                                  const Stream& stream);
  /// |x - y| in order, of keys that `sort` made.
  std::vector<double> gaps(const std::uint64_t* x, const std::uint64_t* y, std::size_t count, const Stream& stream);
  /// The keys of finite doubles (see `key_of`), ascending.
  void sort(const double* x, std::size_t count, Buffer<std::uint64_t>& sorted, const Stream& stream);

 private:
  Buffer<double> chains_;
  Buffer<unsigned long long> totals_;
  Buffer<DeviationSums> parts_, wholes_;
  Buffer<std::uint64_t> keys_;
  Buffer<char> scratch_;
};

}  // namespace attoscope
