/// Draws a FigurePanel, the value that exports draw too, in the window with ImPlot's axes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "imgui.h"
#include "ui/frame/figure_panel.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/theme.h"

namespace attoscope::ui {

/// Part of an x axis.
struct PanelRange {
  double *from = nullptr, *to = nullptr;  ///< both 0: the whole axis
  double least = 0;                       ///< least length of the part
};

/// Options for drawing a panel.
struct PanelLook {
  const char* id;
  PanelRange shown{};                ///< changed by the mouse: wheel zooms, drag moves, double click shows all; null: all
  std::uint64_t hidden = 0;          ///< bit i: series i is not drawn
  std::span<const Series> pale{};    ///< drawn behind the others, in pale colours
  std::vector<double> ticks{};       ///< ticks of x, drawn if their names fit; empty: round numbers
  std::vector<std::string> names{};  ///< names of the ticks
  bool hides_y = false;              ///< no ticks of y
  float label_width = 0;             ///< room for labels at the right ends of the curves
  std::function<std::string(const Series&)> label{};  ///< label at a curve's end
  std::function<void()> behind{}, above{};            ///< drawn in the plot below the curves, and above them
};

/// The mouse over a plot, in units of its axes.
struct PanelMouse {
  bool over = false, clicked = false;  ///< clicked: released without a drag; once for a double click
  double x = 0, y = 0;
  ImVec2 from{}, to{};  ///< the plot's corners on screen; equal: the plot has no room
};

/// The colour of an ink.
Colour ink_colour(Ink ink);

/// True if curve i is drawn: bit i of `hidden` is 0, or i >= 64.
constexpr bool is_shown(std::uint64_t hidden, std::size_t i) { return i >= 64 || (hidden >> i & 1) == 0; }

/// Shift of series i from its category: keeps the marks of several series apart. 0 without categories.
double category_shift(const FigurePanel& panel, std::size_t i);

/// The entry of a series in a legend.
LegendName legend_name(const Series& series, bool hidden);

/// Draws the panel with y fitted to the visible curves. If x has categories, they run from top to bottom, and y across.
PanelMouse draw_panel(const FigurePanel& panel, const PanelLook& look, ImVec2 size);

/// A vertical line in the current plot; given a text, dashed, with the text next to its top.
void draw_vertical(double x, Colour colour, float weight, const std::string& text = "");
/// Shades [from, to] of the current plot's x axis.
void shade_range(double from, double to, Colour colour);

}  // namespace attoscope::ui
