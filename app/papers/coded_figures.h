/// The named figures that are more than sweeps and a caption.
#pragma once

#include "app/papers/named.h"

namespace attoscope::papers {

/// Splits by keys of a tile: the largest difference of one query's O.
Figure invariance(const FigureSettings& settings, const AnswerSweep& answer);
/// Errors of every head of the shipped grouped-query layers.
Figure heads(const FigureSettings& settings, const AnswerSweep& answer);
/// HBM bytes of three algorithms (arXiv 2205.14135).
Figure io(const FigureSettings& settings, const AnswerSweep& answer);

}  // namespace attoscope::papers
