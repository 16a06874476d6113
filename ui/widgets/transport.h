/// Buttons that play and step.
#pragma once

#include "ui/widgets/theme.h"

namespace attoscope {

enum class TransportIcon { first, previous, play, pause, next, last };

/// A small button with an icon, highlighted while `on`.
bool transport_button(const char* id, TransportIcon icon, bool on);
/// A button to the next (or previous) place with this mark.
bool mark_button(const char* id, bool forward, Colour mark);
/// Width of such a button, in pixels.
float transport_width();

}  // namespace attoscope
