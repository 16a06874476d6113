/// The Explore workspace.
#pragma once

#include "imgui.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;
struct Requests;
struct UiState;

/// The panels docked between the bars.
void draw_explore(Session& session, const PanelInput& input, UiState& state, Requests& requests);

/// The middle: toolbar, picture, curves, colour bar, read-out.
void draw_heatmap(Session& session, const PanelInput& input, UiState& state, Requests& requests);

inline constexpr const char* controls_window = "Controls";
inline constexpr const char* pins_window = "Pins";
inline constexpr const char* heatmap_window = "Heat map";
inline constexpr const char* statistics_window = "Statistics";
inline constexpr const char* recurrence_window = "Recurrence";

/// Fills the rectangle with a dock space, rebuilt when sizes, scale, width or pins change. Dragging a border between two panels
/// changes `panels`.
void dock_panels(ImVec2 at, ImVec2 size, PanelSizes& panels, bool with_pins, Docked& docked);

}  // namespace attoscope
