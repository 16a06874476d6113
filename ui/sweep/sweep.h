/// The Sweep workspace: one or two parameters varied over seeds.
#pragma once

#include "ui/memory.h"
#include "ui/theme.h"
#include "ui/ui.h"

namespace attoscope {

/// Everything between the bars.
void draw_sweep(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);

}  // namespace attoscope
