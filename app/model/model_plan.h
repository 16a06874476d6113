/// A session's plan of a language model: what is read for it, its question, its answer as the window shows it.
#pragma once

#include <memory>
#include <string>

#include "kernels/compute.h"
#include "kernels/model/model_answer.h"
#include "ui/frame/model_answer.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// The .gguf that app/fetch-model brought; empty: it did not.
std::string fetched_checkpoint();
/// The plan's checkpoint, or the one that was fetched; empty: there is none.
std::string checkpoint_of(const ui::ModelPlan& plan);
/// The checkpoint that a file or folder belongs to: a folder with config.json, that file, a .gguf with an embedding; empty:
/// none.
std::string checkpoint_at(const std::string& path);

/// The plan's text as tokens, and what its checkpoint says about itself.
struct ReadPlan {
  std::shared_ptr<const ui::ModelReading> reading;
  Architecture architecture;
};
/// Throws nothing but std::bad_alloc: what is wrong stands in the reading.
ReadPlan read_plan(const ui::ModelPlan& plan);

/// The question about methods a and b; `found` has a reading and methods. Throws std::invalid_argument in a sentence.
ModelQuestion question_of(const ui::ModelFound& found, const LanguageModel& model);

/// `asked` with its answer, as sentences and tables. Throws as `answer_model` and `read_language_model` do.
ui::ModelFound answered(ui::ModelFound asked, const LanguageModel& model, const Options& options);
/// `found` with one part at a time made exact.
ui::ModelShares attributed(std::shared_ptr<const ui::ModelFound> found, ModelPart part, const LanguageModel& model,
                           const Options& options);

/// The session's question, without an answer yet.
ui::ModelFound asked_by(const ui::Session& session, std::shared_ptr<const ui::ModelReading> reading);
/// True where both ask the same of one reading.
bool same_question(const ui::ModelFound& x, const ui::ModelFound& y);
/// The session's question answered before this returns. Its reading says what is wrong. Throws Stopped.
ui::ModelView computed_model(const ui::Session& session, const Options& options = {});

/// "SmolLM2-135M-Instruct.Q4_1, layer 7": what `heads_file` holds.
std::string heads_title(const ui::ModelFound& found, int layer);
/// Q [heads, n, d], K and V [kv_heads, n, d] of a layer of the exact model, as a .safetensors with all their bits. Throws
/// Stopped.
std::string heads_file(const ui::ModelFound& found, int layer, const LanguageModel& model, const Options& options);

}  // namespace attoscope::app
