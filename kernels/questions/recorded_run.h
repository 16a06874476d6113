/// One row through the lanes of the kernels, built with a single lane whose rounder logs every number.
#pragma once

#include <vector>

#include "kernels/lanes/job.h"
#include "kernels/lanes/rounding_log.h"

namespace attoscope {

/// The output of a row of Q; all keys of a tile have room in a piece of the lanes (key_chunk).
template <class T>
std::vector<double> recorded_run(const Job<T>& job, int row, Recorder<T>& recorder, RoundingLog& log);

}  // namespace attoscope
