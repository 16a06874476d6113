/// The judgement on somebody's run of a model as JSON, and as lines for people.
#pragma once

#include <string>
#include <vector>

#include "app/json/json.h"
#include "app/model/captured_run.h"
#include "kernels/compute.h"
#include "kernels/model/run_comparison.h"

namespace attoscope::app {

/// A run that was judged, under the rounding that was named, or else under that of the presets which fits it best.
struct JudgedRun {
  RunJudgement judgement;
  std::string around;              ///< "hf_bf16"
  bool guessed = false;            ///< nobody named it
  std::vector<std::string> notes;  ///< on alignment
};

/// Throws as CapturedRunFile and judge_run.
JudgedRun judge_file(const std::string& file, const LanguageModel& model, const std::vector<int>& tokens, const Method& a,
                     const std::string& around, const Options& options);

/// Sets "first_difference", and "against": how it was read, and every tensor.
void add_run_json(Json& json, const JudgedRun& run, const std::vector<int>& tokens);

/// "the first tensor that differs is layer 7 attn_out, head 4, 43.7 times its tolerance: ...", or that none does.
std::string run_conclusion(const JudgedRun& run);
/// Lines on the comparison: what was left out, and the tokens that are too far.
std::string run_lines(const JudgedRun& run);

}  // namespace attoscope::app
