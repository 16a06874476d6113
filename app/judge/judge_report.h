/// A judgement in sentences, as JSON, and as one page that can be attached to a pull request.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "app/json/json.h"
#include "app/judge/gradient_verdict.h"
#include "app/judge/lse_verdict.h"

namespace attoscope::app {

/// The conclusion, the evidence, and what to try. `accepting`: the option under which the worst head would be rounded; "" none.
std::array<std::string, 3> judgement_sentences(const CallJudgement& call, const std::string& accepting);

/// The derivation of the tolerance, one sentence a step.
std::vector<std::string> derivation_of(const CallJudgement& call, const JudgeQuestion& question);

/// "The mask of the file is causal."; "of" this `head` where heads or sequences have masks of their own
std::string mask_sentence(const MaskTensor& mask, const std::string& head = "this head");

/// A ratio as "1.25 times", "5.7 times", "12,345 times", "210,000 times" or "2.1e+09 times"
std::string times(double ratio);

/// A number of O or of a tolerance; "NaN" for any NaN, 0 for numbers below the range of all formats.
std::string number_text(double x, int digits);
/// "sequence 1 has queries and no keys", "sequences 1 and 3 have queries and no keys"
std::string keyless_text(const std::vector<int>& sequences);
/// The clause with a capital letter and a full stop.
std::string as_sentence(std::string clause);

/// The place that a table row names: "layer 17, head 4: in rows 960 to 999: keys 128 to 191"; without unknown parts, and
/// without the name of a head that is only its number.
std::string place_text(const JudgedRow& row);

/// The sentences, one after the other.
std::string verdict_text(const CallJudgement& call);

/// The sentences, the heads and the derivation for a terminal.
std::string judgement_report(const CallJudgement& call);

/// Ways to repeat a judgement.
struct SeenAgain {
  std::string command;  ///< the command that repeats the judgement
  std::string link;     ///< a link to it in a window (see `link_url`); "": none
  bool kept = true;     ///< false: the files are temporary
};

/// A self-contained HTML document: conclusion, heads, error over tolerance as a map and along rows and columns, rivals, and the
/// command that repeats the judgement; `gradients` and `lse`, if given, add tables.
std::string judgement_html(const CallJudgement& call, const SeenAgain& again, const std::optional<CallGradients>& gradients,
                           const std::optional<CallLse>& lse);

/// The output of `attoscope judge --json`; `gradients` and `lse`, if given, add parts and count in the verdict.
Json judgement_json(const CallJudgement& call, const SeenAgain& again, const std::optional<CallGradients>& gradients,
                    const std::optional<CallLse>& lse);

/// The judgement on one head as a part of a result: "verdict" of `attoscope run`.
Json verdict_json(const CallJudgement& call);

}  // namespace attoscope::app
