/// The Sweep workspace: one or two parameters varied over seeds.
#pragma once

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/session/session.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// Everything between the bars.
void draw_sweep(Session& session, const PanelInput& input, UiState& state, Requests& requests);

}  // namespace attoscope
