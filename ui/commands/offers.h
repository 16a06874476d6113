/// What the palette finds beside keys and fields: all that the program has to open, go to or draw.
#pragma once

#include <vector>

#include "ui/commands/commands.h"

namespace attoscope {

/// Workspaces, lessons and their steps, somebody's own kernel and its files, presets, devices, heads, sessions, pins, plans of
/// sweeps, figures.
void add_offers(const KeyTarget& target, std::vector<Command>& all);

}  // namespace attoscope
