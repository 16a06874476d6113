/// Window of rows and keys whose scores are requested, and their values. No drawing.
#pragma once

#include "ui/frame/ui_state.h"

namespace attoscope {

/// The experiment without the traced row and the number of rows, which do not change scores.
Experiment scored(Experiment experiment);

/// Question for the scores of `rect` (rows and keys) with a margin, or, if that is too large, of the part around `row`. Returns
/// `last` if it still covers them.
ScoreQuestion score_question(const Experiment& experiment, const CellRect& rect, int row, const ScoreQuestion* last);

/// True if the window covers `rect`.
bool holds(const ScoreQuestion& window, const CellRect& rect);

/// Updates the values.
void refresh_scores(ScoreState& state, const std::shared_ptr<const ScoreWindow>& window, ScoreShow show);

}  // namespace attoscope
