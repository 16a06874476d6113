/// A tensor of a kernel held to a tolerance of its own.
#pragma once

#include <vector>

#include "kernels/experiment/stop_sign.h"
#include "kernels/judge/judge.h"

namespace attoscope {

/// `values`, as many as `tolerance.golden` has, held to it. Throws what `stop` throws.
HeadJudgement held_to(const Tolerance& tolerance, const std::vector<double>& values, const StopSign& stop);

}  // namespace attoscope
