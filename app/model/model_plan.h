/// A session's plan of a language model: its inputs, its question, and its answer as the window shows it.
#pragma once

#include <memory>
#include <string>

#include "kernels/compute.h"
#include "kernels/model/model_answer.h"
#include "ui/frame/model_answer.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// Path of the .gguf that app/fetch-model downloaded; empty: there is none.
std::string fetched_checkpoint();
/// The plan's checkpoint, else `fetched_checkpoint`; empty: there is none.
std::string checkpoint_of(const ui::ModelPlan& plan);
/// The checkpoint that a file or folder belongs to: a folder with config.json, that file, a .gguf with an embedding; empty:
/// none.
std::string checkpoint_at(const std::string& path);

/// A text that changes when the file of the plan's text does.
std::string text_state(const ui::ModelPlan& plan);

/// The plan's text as tokens, and the architecture of its checkpoint.
struct ReadPlan {
  std::shared_ptr<const ui::ModelReading> reading;
  Architecture architecture;
};
/// Reads the plan's checkpoint and text; errors are in `reading->wrong`.
ReadPlan read_plan(const ui::ModelPlan& plan);

/// The question about methods a and b; `found` must have a reading and methods. Throws std::invalid_argument in a sentence.
ModelQuestion question_of(const ui::ModelFound& found, const LanguageModel& model);

/// Answers `asked`; returns it with sentences and tables. Throws as `answer_model` and `read_language_model`.
ui::ModelFound answered(ui::ModelFound asked, const LanguageModel& model, const Options& options);
/// Attributes the error of a in `found`: computes it again with one part at a time exact. Shares are found and kept in the
/// cache of points.
ui::ModelShares attributed(std::shared_ptr<const ui::ModelFound> found, ModelPart part, const LanguageModel& model,
                           const Options& options);

/// The session's question, without an answer yet.
ui::ModelFound asked_by(const ui::Session& session, std::shared_ptr<const ui::ModelReading> reading);
/// True if both have the same question on the same reading.
bool same_question(const ui::ModelFound& x, const ui::ModelFound& y);
/// Answers the session's question before it returns. Errors are in `reading->wrong` and `progress.remark`. Throws Stopped.
ui::ModelView computed_model(const ui::Session& session, const Options& options = {});

/// Title of a `heads_file`: "SmolLM2-135M-Instruct.Q4_1, layer 7".
std::string heads_title(const ui::ModelFound& found, int layer);
/// Bytes of a bit-exact .safetensors with Q [heads, n, d], K and V [kv_heads, n, d] of a layer of the exact model. Throws
/// Stopped.
std::string heads_file(const ui::ModelFound& found, int layer, const LanguageModel& model, const Options& options);

}  // namespace attoscope::app
