/// The row that is followed tile by tile beside a loaded output.
#pragma once

#include <memory>

#include "kernels/experiment/result.h"
#include "kernels/judge/parting.h"

namespace attoscope {

/// The answer whose a is followed, `followed_beside` the output, and where the output's row may end early.
struct FollowedRow {
  std::shared_ptr<const Result> answer;
  RowPrefix prefix;
};

}  // namespace attoscope
