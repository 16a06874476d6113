/// Work on every head of a file, one thread for one head.
#pragma once

#include <functional>
#include <vector>

#include "kernels/compute.h"

namespace attoscope {

/// Calls work(head, own) for each of `heads` from several threads; `own` are the options of that thread, which has a cache of
/// its own and computes alone. The first that throws stops all, and is thrown again. Throws Stopped when cancelled.
void each_head(const std::vector<int>& heads, const Options& options,
               const std::function<void(int head, const Options& own)>& work);

}  // namespace attoscope
