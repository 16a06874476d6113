/// The papers' experiments as figures: a menu that draws them.
#pragma once

#include "ui/theme.h"
#include "ui/ui.h"

namespace attoscope {

/// A button, with a menu of the figures that can be drawn, what they are drawn with, and how far the one on its way is.
void figures_button(View& view, const Frame& frame, const Palette& colours, Wishes& wishes);

}  // namespace attoscope
