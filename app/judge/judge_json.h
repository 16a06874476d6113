/// A judgement as JSON.
#pragma once

#include "app/json/json.h"

namespace attoscope {

struct CallJudgement;

/// What `attoscope judge --json` writes; `command` makes it again, `link` shows the worst head in a window ("": none does).
Json judgement_json(const CallJudgement& call, const std::string& command, const std::string& link);

/// The judgement on one head as a part of a result: "verdict" of `attoscope run`.
Json verdict_json(const CallJudgement& call);

}  // namespace attoscope
