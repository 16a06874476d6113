/// The papers' experiments as figures: a menu that draws them.
#pragma once

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/session/session.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// A button with a menu: figures to draw, their settings, and the progress of the current one.
void figures_button(View& view, const PanelInput& input, Requests& requests);

}  // namespace attoscope
