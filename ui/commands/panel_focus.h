/// Keyboard focus of the panels.
#pragma once

#include "ui/widgets/theme.h"

namespace attoscope {

/// Gives the keyboard to the next panel on screen (`by` 1) or to the one before (-1): the top bar, then from the left to the
/// right and downwards, the status bar last.
void focus_panel(int by);

/// Frame around the panel with the keyboard focus, while keys move the focus.
void draw_panel_focus();

}  // namespace attoscope
