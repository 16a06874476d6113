/// The papers' experiments as figures: a menu that draws them.
#pragma once

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/session/session.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// A button, with a menu of the figures that can be drawn, what they are drawn with, and how far the one on its way is.
void figures_button(View& view, const PanelInput& input, const Palette& colours, Requests& requests);

}  // namespace attoscope
