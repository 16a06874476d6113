/// A judgement as JSON.
#pragma once

#include "app/json/json.h"

namespace attoscope {

struct CallGradients;
struct CallJudgement;
struct CallLse;

/// The output of `attoscope judge --json`; `command` repeats it, `link` shows the worst head in a window ("": no link).
/// `gradients` and `lse`, if given, are parts of it and of its verdict.
Json judgement_json(const CallJudgement& call, const std::string& command, const std::string& link,
                    const CallGradients* gradients = nullptr, const CallLse* lse = nullptr);

/// The judgement on one head as a part of a result: "verdict" of `attoscope run`.
Json verdict_json(const CallJudgement& call);

}  // namespace attoscope
