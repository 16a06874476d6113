/// The judgement on a captured run of a model, as JSON and as lines for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/json/json.h"
#include "kernels/compute.h"
#include "kernels/model/run_comparison.h"

namespace attoscope::app {

/// A judged run, under the named rounding around attention or, if none was named, under the preset that fits best.
struct JudgedRun {
  RunJudgement judgement;
  std::string around;              ///< "hf_bf16", as --around takes it
  bool guessed = false;            ///< true: found by comparison, not named
  std::vector<std::string> notes;  ///< on alignment
};

/// Judges the captured run in `file`; `around` none: under the preset that fits best. Throws as judge_run, and
/// std::runtime_error with one sentence if no tensor has a usual name, shapes fit no model, or no rows are of these tokens.
JudgedRun judge_file(const std::string& file, const LanguageModel& model, const std::vector<int>& tokens, const Method& a,
                     const std::optional<std::string>& around, const Options& options);

/// Sets "first_difference" and "against": the alignment, every tensor and the tokens that are too far off.
void add_run_json(Json& json, const JudgedRun& run, const std::vector<int>& tokens);

/// "the first tensor that differs is layer 7 attn_out, head 4, 43.7 times its tolerance: ...", or that none does.
std::string run_conclusion(const JudgedRun& run);
/// Lines on the comparison: tensors that were left out, and tokens that are too far off.
std::string run_lines(const JudgedRun& run);

}  // namespace attoscope::app
