/// The row of controls above the heat map.
#pragma once

#include "ui/memory.h"
#include "ui/theme.h"

namespace attoscope {

/// What the picture shows, how it is coloured, what it is held against.
void draw_toolbar(Session& session, const UiMemory& memory, const Palette& colours);

/// The colour that a field's method has everywhere.
Colour field_colour(Field field, const Palette& colours);

}  // namespace attoscope
