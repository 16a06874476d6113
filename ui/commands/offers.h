/// Commands of the palette that are neither keys nor fields: everything that can be opened, gone to or drawn.
#pragma once

#include <vector>

#include "ui/commands/commands.h"

namespace attoscope {

/// Workspaces, lessons and their steps, the loaded kernel and its files, presets, devices, heads, sessions, pins, plans of
/// sweeps, figures.
void add_offers(const KeyTarget& target, std::vector<Command>& all);

}  // namespace attoscope
