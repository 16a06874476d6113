/// The layout of the four panels.
#pragma once

#include "imgui.h"
#include "ui/frame/ui_state.h"

namespace attoscope {

inline constexpr const char* controls_window = "Controls";
inline constexpr const char* heatmap_window = "Heat map";
inline constexpr const char* statistics_window = "Statistics";
inline constexpr const char* recurrence_window = "Recurrence";

/// Fills the rectangle with a dock space, laid out anew where the sizes, the scale or the width ask for it. Dragging a line
/// between two panels changes their sizes.
void dock_panels(ImVec2 at, ImVec2 size, PanelSizes& panels, Docked& docked);

}  // namespace attoscope
