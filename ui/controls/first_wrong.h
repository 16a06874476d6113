/// The way from a failing verdict to the picture.
#pragma once

#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;

/// A button that shows the first wrong row of a loaded output: its tile in the picture, its worst cell pinned; and where a slip
/// is named, one that swipes between the output and what the slip gives. Nothing where the verdict is not known or finds
/// nothing, or no output is loaded. Returns the width that is taken.
float first_wrong_button(Session& session, const PanelInput& input, const Palette& colours);

}  // namespace attoscope
