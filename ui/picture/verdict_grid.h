/// A loaded output by layers and heads: one cell each, coloured by its largest error over its tolerance.
#pragma once

#include <string>

#include "ui/frame/panel_input.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// Colour of an error over its tolerance: blue up to 1, orange to red above.
Colour verdict_colour(double ratio);

/// Fills the rest of the window with the grid; returns the clicked head, -1: none.
int draw_verdict_grid(const JudgedView& heads, const TensorFileInfo& info, int open);

/// The grid as CSV, one line for each judged head.
std::string verdict_grid_csv(const JudgedView& heads, const TensorFileInfo& info);

}  // namespace attoscope
