/// Runs work on every head of a file, one thread per head.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "kernels/compute.h"

namespace attoscope::app {

/// The share of all heads that is done, from the shares of each, which may be told from many threads.
class HeadsProgress {
 public:
  /// `told`, one call at a time, may be empty, and stays in use.
  HeadsProgress(std::size_t heads, const Progress& told) : shares_(heads), told_(told) {}
  void tell(std::size_t head, double share);

 private:
  std::mutex mutex_;
  std::vector<double> shares_;
  double sum_ = 0;
  const Progress& told_;
};

/// Calls work(head, own) for each of `heads` from several threads; `own`: options of that thread, single-threaded with its own
/// cache; the share in `options.progress` moves within a head, too. The first exception stops all and is rethrown. Throws
/// Stopped when cancelled.
void each_head(const std::vector<int>& heads, const Options& options,
               const std::function<void(int head, const Options& own)>& work);

}  // namespace attoscope::app
