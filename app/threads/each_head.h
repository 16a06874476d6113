/// Runs work on every head of a file, one thread per head, or all threads on a single head.
#pragma once

#include <functional>
#include <vector>

#include "kernels/compute.h"

namespace attoscope::app {

/// Calls work(head, own) for each of `heads` from several threads; `own`: options of that thread, single-threaded unless there
/// is one head, with its own cache. `options.progress` also advances within a head. The first exception stops all and is
/// rethrown. Throws Stopped when cancelled.
void each_head(const std::vector<int>& heads, const Options& options,
               const std::function<void(int head, const Options& own)>& work);

}  // namespace attoscope::app
