/// Named figures as data: an entry of assets/figures.json (README.md describes it), computed and drawn.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/papers/figure_text.h"
#include "app/papers/named.h"

namespace attoscope::app {

/// Throws std::runtime_error in a sentence where the entry has a key that no part of a figure has.
void check_plan(const nlohmann::json& plan);

/// The figure of an entry, its sweeps answered by `answer`, each once. Throws std::invalid_argument in a sentence where the
/// entry asks for what there is not.
Figure planned_figure(const nlohmann::json& plan, const ui::FigureSettings& settings, const AnswerSweep& answer);

/// The names that texts of every figure may use: {policy}, {N}, ...; README.md lists them.
FigureScope scope_of(const ui::FigureSettings& settings);
/// The default experiment with the settings' size, and a under their policy.
Experiment base_of(const ui::FigureSettings& settings);
/// The policies that are drawn: the chosen one, or all of the flash kind.
std::vector<std::string> policies_of(const ui::FigureSettings& settings);

namespace papers {

// The named figures that are more than sweeps and a caption.

/// Splits by keys of a tile: the largest difference of one query's O.
Figure invariance(const ui::FigureSettings& settings, const AnswerSweep& answer);
/// Errors of every head of the shipped grouped-query layers.
Figure heads(const ui::FigureSettings& settings, const AnswerSweep& answer);
/// HBM bytes of three algorithms (arXiv 2205.14135).
Figure io(const ui::FigureSettings& settings, const AnswerSweep& answer);

/// Whole kernels and policies in every layer and head of SmolLM2-135M beside the yardsticks of the same model: how far they
/// move the next token. Throws std::runtime_error in a sentence where the model was not fetched, Stopped.
Figure language_model(const ui::FigureSettings& settings, const Options& options, const std::function<void()>& finished);
/// Runs that it finishes: a method each.
inline constexpr std::size_t language_model_runs = 6;

}  // namespace papers
}  // namespace attoscope::app
