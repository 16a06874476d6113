/// The Explore workspace, and the table of its panels.
#pragma once

#include <span>

#include "ui/frame/frame.h"

namespace attoscope::ui {

inline constexpr const char* heatmap_window = "Heat map";
inline constexpr const char* statistics_window = "Statistics";
inline constexpr const char* recurrence_window = "Recurrence";

/// A docked panel.
struct Panel {
  const char* name;  ///< name of its window and tab
  Dock dock;
  /// Width of the window at scale 1 (for a panel at the bottom, its height) below which the panel is a tab at `instead`.
  float least = 0;
  Dock instead = Dock::left;
  void (*draw)(const Frame&) = nullptr;
  bool scrolls = false;
  bool View::* shown = nullptr;                    ///< its switch; null: always shown
  bool (*comes_to_front)(const Frame&) = nullptr;  ///< true in a frame that brings its tab to the front
};
/// The panels of Explore, in the order in which they are drawn.
std::span<const Panel> panels();

/// The panels docked between the bars.
void draw_explore(const Frame& frame);

}  // namespace attoscope::ui
