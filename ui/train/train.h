/// The Train workspace.
#pragma once

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/session/session.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// Plan, curves, picture of the weights and numbers, between the bars.
void draw_train(Session& session, const PanelInput& input, UiState& state, const Palette& colours, Requests& requests);

}  // namespace attoscope
