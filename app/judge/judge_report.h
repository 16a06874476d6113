/// A judgement as one page that can be attached to a pull request.
#pragma once

#include <string>

#include "app/json/json.h"

namespace attoscope {
struct CallJudgement;
}  // namespace attoscope

namespace attoscope::app {

struct CallGradients;
struct CallLse;

/// Ways to repeat a judgement.
struct SeenAgain {
  std::string command;  ///< the command that repeats the judgement
  std::string link;     ///< a link to it in a window (see `link_url`); "": none
  bool kept = true;     ///< false: the files are temporary
};

/// A self-contained HTML document: conclusion, heads, error over tolerance as a map and along rows and columns, rivals, and the
/// command that makes it again; `gradients` and `lse`, if given, are tables of it.
std::string judgement_html(const CallJudgement& call, const SeenAgain& again, const CallGradients* gradients = nullptr,
                           const CallLse* lse = nullptr);

/// The output of `attoscope judge --json`; `command` repeats it, `link` shows the worst head in a window ("": no link).
/// `gradients` and `lse`, if given, are parts of it and of its verdict.
Json judgement_json(const CallJudgement& call, const std::string& command, const std::string& link,
                    const CallGradients* gradients = nullptr, const CallLse* lse = nullptr);

/// The judgement on one head as a part of a result: "verdict" of `attoscope run`.
Json verdict_json(const CallJudgement& call);

}  // namespace attoscope::app
