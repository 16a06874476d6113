/// The Explore workspace.
#pragma once

#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;
struct Requests;
struct UiState;

/// The panels docked between the bars.
void draw_explore(Session& session, const PanelInput& input, UiState& state, Requests& requests);

/// The middle: toolbar, picture, curves, colour bar, read-out.
void draw_heatmap(Session& session, const PanelInput& input, UiState& state, Requests& requests);

}  // namespace attoscope
