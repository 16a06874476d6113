/// The judgement on the loaded output on screen.
#pragma once

#include <memory>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/matrix.h"
#include "kernels/judge/call_judgement.h"

namespace attoscope {

/// Rounded or wrong: one head, as `attoscope judge --head` says it.
struct HeadVerdict {
  Experiment experiment;  ///< as `verdict_question` has it
  CallJudgement call;
  std::shared_ptr<const Matrix> shares;         ///< each element's error over its tolerance; null where nothing can be judged
  int furthest_row = -1, furthest_column = -1;  ///< where it is largest; -1: nowhere
};

}  // namespace attoscope
