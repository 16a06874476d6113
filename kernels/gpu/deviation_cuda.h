/// Comparison of matrices on a GPU. Only *.cu include this.
#pragma once

#include <functional>

#include "kernels/gpu/device_memory.h"
#include "kernels/gpu/engine.h"

namespace attoscope {

/// Loads the file of its kernels on the current GPU.
void load_deviations();

/// Compares matrices on the GPU that was current when it was made, in memory that it keeps. Intermediate results stay on the
/// GPU, so that nothing waits: answers are read when `collect` is called, after a wait for the stream.
class DeviceMeter {
 public:
  DeviceMeter(const Stream& stream, Staging& staging) : stream_(stream), staging_(staging) {}

  void measure(Output output, const double* x, std::size_t count);
  /// Queues the comparison; y was measured since it changed. `sorts`: gaps are wanted.
  void compare(Output x_is, const double* x, Output y_is, const double* y, std::size_t count, const Format& main, bool sorts);
  /// Notes that the matrix has changed.
  void changed(Output output) { sides_[static_cast<std::size_t>(output)].is_sorted = false; }

  /// Forgets answers that were not collected.
  void begin() { arriving_.clear(); }
  void collect(EngineAnswers& answers);

 private:
  /// Data kept of one of the result's matrices.
  struct Side {
    Buffer<double> squares;
    Buffer<unsigned long long> totals;  ///< non-finite values, digest
    Buffer<std::uint64_t> keys;         ///< of finite doubles (see `key_of`), ascending
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
