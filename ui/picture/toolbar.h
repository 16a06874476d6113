/// The row of controls above the heat map.
#pragma once

#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;

/// What the picture shows, how it is coloured, what it is held against.
void draw_toolbar(Session& session, const PanelInput& input, const UiState& state, const Palette& colours);

/// The colour that a field's method has everywhere.
Colour field_colour(Field field, const Palette& colours);

}  // namespace attoscope
