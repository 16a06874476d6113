/// Which rows and keys of the scores are asked for, and their values. No drawing.
#pragma once

#include "ui/frame/ui_state.h"

namespace attoscope {

/// What the scores depend on: the experiment without its choice of rows.
Experiment scored(Experiment experiment);

/// The window that shows `rect` (in rows and keys): all of it with room to move, or, where that is too much, the part about
/// `row`. The last one where it serves still.
ScoreQuestion score_question(const Experiment& experiment, const CellRect& rect, int row, const ScoreQuestion* last);

/// True if the window holds all that `rect` shows.
bool holds(const ScoreQuestion& window, const CellRect& rect);

/// Brings the values up to date.
void refresh_scores(ScoreState& state, const std::shared_ptr<const ScoreWindow>& window, ScoreShow show);

}  // namespace attoscope
