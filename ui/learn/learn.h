/// The Learn workspace: lessons with live views.
#pragma once

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// Everything between the bars.
void draw_learn(Session& session, const PanelInput& input, UiState& state, const Palette& colours, Requests& requests);

}  // namespace attoscope
