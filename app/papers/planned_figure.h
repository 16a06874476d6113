/// Named figures as data: an entry of assets/figures.json (README.md describes it), computed and drawn.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/papers/figure_text.h"
#include "app/papers/named.h"

namespace attoscope::app {

/// Throws std::runtime_error in a sentence if the entry has an unknown key.
void check_plan(const nlohmann::json& plan);

/// Draws the figure of an entry; calls `answer` once for each sweep. Throws std::invalid_argument in a sentence if the entry is
/// wrong.
Figure planned_figure(const nlohmann::json& plan, const ui::FigureSettings& settings, const AnswerSweep& answer);

/// Placeholders for texts of every figure: {policy}, {N}, ...; README.md lists them.
FigureScope scope_of(const ui::FigureSettings& settings);
/// The default experiment with the settings' size, and a under their policy.
Experiment base_of(const ui::FigureSettings& settings);
/// The policies that are drawn: the chosen one, or all flash policies except exact.
std::vector<std::string> policies_of(const ui::FigureSettings& settings);

namespace papers {

// Named figures that need code, not only sweeps and a caption.

/// Splits by keys of a tile: the largest difference of one query's O.
Figure invariance(const ui::FigureSettings& settings, const AnswerSweep& answer);
/// Errors of every head of the shipped grouped-query layers.
Figure heads(const ui::FigureSettings& settings, const AnswerSweep& answer);
/// HBM bytes of three algorithms (arXiv 2205.14135).
Figure io(const ui::FigureSettings& settings, const AnswerSweep& answer);

/// Next-token changes by whole kernels and policies in every layer and head of SmolLM2-135M, and by the model's yardsticks.
/// Throws std::runtime_error in a sentence if the model was not fetched; Stopped.
Figure language_model(const ui::FigureSettings& settings, const Options& options, const std::function<void()>& finished);
/// Runs of `language_model`, one for each method.
inline constexpr std::size_t language_model_runs = 6;

}  // namespace papers
}  // namespace attoscope::app
