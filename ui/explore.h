/// The Explore workspace.
#pragma once

#include "ui/frame/frame.h"

namespace attoscope::ui {

inline constexpr const char* heatmap_window = "Heat map";
inline constexpr const char* statistics_window = "Statistics";
inline constexpr const char* recurrence_window = "Recurrence";

/// The panels docked between the bars.
void draw_explore(const Frame& frame);

}  // namespace attoscope::ui
