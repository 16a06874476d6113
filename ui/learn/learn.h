/// The Learn workspace: lessons with live views.
#pragma once

#include "ui/memory.h"
#include "ui/theme.h"
#include "ui/ui.h"

namespace attoscope {

/// Everything between the bars.
void draw_learn(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);

}  // namespace attoscope
