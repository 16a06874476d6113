/// A judgement as JSON.
#pragma once

#include "app/json/json.h"

namespace attoscope {

struct CallJudgement;

/// What `attoscope judge --json` writes; `command` makes it again.
Json judgement_json(const CallJudgement& call, const std::string& command);

}  // namespace attoscope
