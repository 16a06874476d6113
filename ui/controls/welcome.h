/// What to do first, for who sees the window for the first time.
#pragma once

#include "ui/widgets/theme.h"

namespace attoscope {

/// A line above the picture until it is dismissed; nothing where the view has none.
void draw_welcome(Session& session, const Palette& colours);

}  // namespace attoscope
