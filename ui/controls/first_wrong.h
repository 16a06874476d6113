/// Button from a failing verdict to the wrong elements in the picture.
#pragma once

#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;

/// A button that shows the first wrong row of a loaded output: its tile in the picture, its worst cell pinned. If a slip is
/// named, a second one swipes between the output and the slip's. Nothing without an output, a verdict or a wrong row. Returns
/// the width taken.
float first_wrong_button(Session& session, const PanelInput& input);

}  // namespace attoscope
