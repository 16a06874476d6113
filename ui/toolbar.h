/// The row of controls above the heat map.
#pragma once

#include "ui/memory.h"
#include "ui/theme.h"

namespace attoscope {

void draw_toolbar(Session& session, const HeatMemory& memory, const Palette& colours);

/// The colour that a field's method has everywhere.
Colour field_colour(Field field, const Palette& colours);

}  // namespace attoscope
