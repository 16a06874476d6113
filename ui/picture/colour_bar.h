/// The colour bar with its ticks and marker colours.
#pragma once

#include "imgui.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// A rectangle on screen.
struct Box {
  ImVec2 min, max;
};

void draw_colour_bar(const Box& box, const Colouring& colouring, const CellPicture& state);

}  // namespace attoscope
