/// The Train workspace.
#pragma once

#include "ui/memory.h"
#include "ui/theme.h"
#include "ui/ui.h"

namespace attoscope {

/// Plan, curves, picture of the weights and numbers, between the bars.
void draw_train(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);

}  // namespace attoscope
