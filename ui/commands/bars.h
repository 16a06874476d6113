/// The top bar, the status bar, and the command palette.
#pragma once

#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;
struct Requests;
struct UiState;

/// The top bar.
void draw_top_bar(Session& session, const PanelInput& input, UiState& state, const Palette& colours, Requests& requests);

/// The status bar.
void draw_status_bar(const PanelInput& input, const Palette& colours, Requests& requests);

/// The command palette while it is open: commands are found by typing.
void draw_palette(Session& session, const PanelInput& input, UiState& state, const Palette& colours, Requests& requests);

}  // namespace attoscope
