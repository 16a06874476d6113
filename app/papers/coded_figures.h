/// The named figures that are more than sweeps and a caption.
#pragma once

#include "app/papers/named.h"

namespace attoscope::app::papers {

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

}  // namespace attoscope::app::papers
