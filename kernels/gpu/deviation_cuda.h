/// Comparison of matrices on a GPU. Only *.cu include this.
#pragma once

#include <functional>

#include "kernels/gpu/device_memory.h"
#include "kernels/gpu/engine.h"

namespace attoscope {

/// Loads this file's kernels on the current GPU.
void load_deviations();

/// Compares matrices on the GPU that was current at construction, in memory that it keeps. Intermediate results stay on the
/// GPU, so calls do not wait: `collect` reads the results after a wait for the stream.
class DeviceMeter {
 public:
  DeviceMeter(const Stream& stream, Staging& staging) : stream_(stream), staging_(staging) {}

  void measure(Output output, const double* x, std::size_t count);
  /// Queues a comparison; y must have been measured since it changed. `sorts`: also computes gaps.
  void compare(Output x_is, const double* x, Output y_is, const double* y, std::size_t count, const Format& main, bool sorts);
  /// Call after the matrix has changed.
  void changed(Output output) { sides_[static_cast<std::size_t>(output)].is_sorted = false; }

  /// Drops results that were not collected.
  void begin() { arriving_.clear(); }
  void collect(EngineAnswers& answers);

 private:
  /// Data of one of the result's matrices.
  struct Side {
    Buffer<double> squares;
    Buffer<unsigned long long> totals;  ///< non-finite values, digest
    Buffer<std::uint64_t> keys;         ///< keys of finite doubles (see `key_of`), ascending
    bool is_sorted = false;
  };

  Side& side(Output output) { return sides_[static_cast<std::size_t>(output)]; }
  void sums(const double* x, const double* y, std::size_t count);
  void sort(Side& side, const double* x, std::size_t count);
  /// Queues a copy of `count` elements of x to the host; `collect` then calls take(first, answers).
  template <class T, class Take>
  void fetch(const Buffer<T>& x, std::size_t count, Take take);

  const Stream& stream_;
  Staging& staging_;
  Side sides_[output_count];
  Buffer<DeviationRule> rule_;
  Buffer<DeviationSums> parts_, wholes_;
  Buffer<double> chains_;
  Buffer<std::uint64_t> unsorted_;
  Buffer<char> scratch_;
  std::vector<std::function<void(EngineAnswers&)>> arriving_;
};

}  // namespace attoscope
