/// The judgement on the loaded output on screen.
#pragma once

#include "kernels/experiment/experiment.h"
#include "kernels/judge/call_judgement.h"

namespace attoscope {

/// Rounded or wrong: one head, as `attoscope judge --head` says it.
struct HeadVerdict {
  Experiment experiment;
  CallJudgement call;
};

}  // namespace attoscope
