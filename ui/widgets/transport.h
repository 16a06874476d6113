/// Buttons that play and step.
#pragma once

#include "ui/widgets/theme.h"

namespace attoscope {

enum class TransportIcon { first, previous, play, pause, next, last };

/// A small button with an icon, lit while `on`.
bool transport_button(const char* id, TransportIcon icon, bool on, const Palette& colours);
/// The same, to the next (or previous) of the places with this mark.
bool mark_button(const char* id, bool forward, Colour mark, const Palette& colours);
/// How wide it is, in pixels.
float transport_width();

}  // namespace attoscope
