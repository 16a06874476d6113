/// The plots of the recurrence as values, for the strip and for figures.
#pragma once

#include "ui/frame/figure_panel.h"
#include "ui/recurrence/recurrence.h"

namespace attoscope {

/// Names of the curves.
namespace curve_label {
inline constexpr const char *most_rows = "90 % of rows", *half_the_rows = "50 % of rows", *max_true = "true max", *m = "m",
                            *moved = "moved", *ties = "ties", *rescales = "m moved", *expected = "1/t, scores in random order",
                            *O_norm = "|O|", *l = "l", *alpha = "α", *saturates = "saturates";
}  // namespace curve_label

/// One plot over the tiles, with the curves that the view shows.
FigurePanel strip_panel(StripPlot plot, const StripState& state, const View& view);

/// Histogram of the rows by their number of moves of m.
FigurePanel row_move_panel(const StripState& state);

}  // namespace attoscope
