/// Runs work on every head of a file, one thread per head.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "kernels/compute.h"

namespace attoscope::app {

/// Progress over all heads, from the progress of each; many threads may call `tell`.
class HeadsProgress {
 public:
  /// Calls `told`, if not empty, one call at a time; it must outlive this object.
  HeadsProgress(std::size_t heads, const Progress& told) : shares_(heads), told_(told) {}
  void tell(std::size_t head, double share);

 private:
  std::mutex mutex_;
  std::vector<double> shares_;
  double sum_ = 0;
  const Progress& told_;
};

/// Calls work(head, own) for each of `heads` from several threads; `own`: options of that thread, single-threaded with its own
/// cache. `options.progress` also advances within a head. The first exception stops all and is rethrown. Throws Stopped when
/// cancelled.
void each_head(const std::vector<int>& heads, const Options& options,
               const std::function<void(int head, const Options& own)>& work);

}  // namespace attoscope::app
