/// Runs work on every head of a file, one thread per head.
#pragma once

#include <functional>
#include <vector>

#include "kernels/compute.h"

namespace attoscope {

/// Calls work(head, own) for each of `heads` from several threads; `own`: options of that thread, single-threaded with its own
/// cache. The first exception stops all and is rethrown. Throws Stopped when cancelled.
void each_head(const std::vector<int>& heads, const Options& options,
               const std::function<void(int head, const Options& own)>& work);

}  // namespace attoscope
