/// The colour bar with its ticks and marker colours.
#pragma once

#include "imgui.h"
#include "ui/memory.h"
#include "ui/theme.h"

namespace attoscope {

/// A rectangle on screen.
struct Box {
  ImVec2 min, max;
};

void draw_colour_bar(const Box& box, const Colouring& colouring, const CellPicture& memory, const Palette& colours);

}  // namespace attoscope
