/// A judgement as one page that can be attached to a pull request.
#pragma once

#include <optional>
#include <string>

#include "app/json/json.h"
#include "app/judge/gradient_verdict.h"
#include "app/judge/lse_verdict.h"

namespace attoscope::app {

/// Ways to repeat a judgement.
struct SeenAgain {
  std::string command;  ///< the command that repeats the judgement
  std::string link;     ///< a link to it in a window (see `link_url`); "": none
  bool kept = true;     ///< false: the files are temporary
};

/// A self-contained HTML document: conclusion, heads, error over tolerance as a map and along rows and columns, rivals, and the
/// command that makes it again; `gradients` and `lse`, if given, are tables of it.
std::string judgement_html(const CallJudgement& call, const SeenAgain& again, const std::optional<CallGradients>& gradients,
                           const std::optional<CallLse>& lse);

/// The output of `attoscope judge --json`; `gradients` and `lse`, if given, are parts of it and of its verdict.
Json judgement_json(const CallJudgement& call, const SeenAgain& again, const std::optional<CallGradients>& gradients,
                    const std::optional<CallLse>& lse);

/// The judgement on one head as a part of a result: "verdict" of `attoscope run`.
Json verdict_json(const CallJudgement& call);

}  // namespace attoscope::app
