/// The judgement on the loaded output on screen.
#pragma once

#include <memory>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/matrix.h"
#include "kernels/judge/call_judgement.h"

namespace attoscope {

/// Rounded or wrong: one head, as `attoscope judge --head` says it.
struct HeadVerdict {
  Experiment experiment;  ///< result of `verdict_question`
  CallJudgement call;
  std::shared_ptr<const Matrix> shares;         ///< each element's error over its tolerance; null: nothing to judge
  int furthest_row = -1, furthest_column = -1;  ///< element with the largest share; -1: none
};

}  // namespace attoscope
