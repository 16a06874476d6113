/// Judges the loaded output on screen, and all heads of its call.
#pragma once

#include <functional>

#include "app/heads/heads.h"
#include "ui/frame/head_verdict.h"
#include "ui/frame/heads_answer.h"

namespace attoscope {

/// The verdict on one head of a `verdict_question`. Throws as `judge_experiment`.
HeadVerdict head_verdict(const Experiment& question, const Options& options = {});

/// Judges every head, as `attoscope judge --head` does. Several threads call `found`, one at a time. Throws Stopped, or one
/// sentence if a head cannot be read.
void judge_heads(const HeadsQuestion& question, const CallFiles& files, const Options& options,
                 const std::function<void(const JudgedHead&)>& found);

}  // namespace attoscope
