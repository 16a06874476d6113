/// Sentences about a judgement.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace attoscope {
struct CallJudgement;
struct JudgedRow;
struct MaskTensor;
}  // namespace attoscope

namespace attoscope::app {

struct JudgeQuestion;

/// The conclusion, the evidence, and what to try. `accepting`: the option under which the worst head would be rounded; "" none.
std::array<std::string, 3> judgement_sentences(const CallJudgement& call, const std::string& accepting);

/// The derivation of the tolerance, one sentence a step.
std::vector<std::string> derivation_of(const CallJudgement& call, const JudgeQuestion& question);

/// "The mask of the file is causal."
std::string mask_sentence(const MaskTensor& mask);

/// A number of O or of a tolerance, "NaN" for any NaN; smaller ones than any format has are 0.
std::string number_text(double x, int digits);

/// The place that a table row names: "layer 17, head 4: in rows 960 to 999: keys 128 to 191"; unknown parts, and a head
/// called by its number, are left out.
std::string place_text(const JudgedRow& row);

/// The sentences, one after the other.
std::string verdict_text(const CallJudgement& call);

/// The sentences, the heads and the derivation for a terminal.
std::string judgement_report(const CallJudgement& call);

}  // namespace attoscope::app
