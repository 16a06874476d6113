/// A loaded output by layers and heads: each a cell, coloured by its largest error over its tolerance.
#pragma once

#include <string>

#include "ui/frame/panel_input.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// The colour of an error over its tolerance: blue up to 1, from orange to red above.
Colour verdict_colour(double ratio, Theme theme);

/// The grid fills what is left of the window; returns the head that was clicked, -1: none.
int draw_verdict_grid(const JudgedView& heads, const TensorFileInfo& info, int open, Theme theme, const Palette& colours);

/// The same as a table, a line for each head that is judged.
std::string verdict_grid_csv(const JudgedView& heads, const TensorFileInfo& info);

}  // namespace attoscope
