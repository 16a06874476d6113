/// The row of controls above the heat map.
#pragma once

#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;

/// Controls of the picture's content, colours and comparison.
void draw_toolbar(Session& session, const PanelInput& input, const UiState& state);

/// Colour of a field's method, the same everywhere.
Colour field_colour(Field field);

}  // namespace attoscope
