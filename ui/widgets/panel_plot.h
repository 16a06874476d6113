/// A panel in the window: the value that its exported figure is made of, on ImPlot's own axes.
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
  double *from = nullptr, *to = nullptr;  ///< both 0: all of it
  double least = 0;                       ///< the shortest part
};

/// The drawing of a panel beside its value.
struct PanelLook {
  const char* id;
  PanelRange shown{};              ///< changed by the mouse: the wheel zooms, a drag moves, a double click shows all; null: all
  std::uint64_t hidden = 0;        ///< bit i: series i is not drawn
  std::span<const Series> pale{};  ///< drawn behind the others, in pale colours
  std::vector<double> ticks{};     ///< of x, where their names fit; empty: round numbers
  std::vector<std::string> names{};                   ///< of the ticks
  bool hides_y = false;                               ///< no ticks of y
  float label_width = 0;                              ///< room for labels at the right ends of the curves
  std::function<std::string(const Series&)> label{};  ///< of a curve's end
  std::function<void()> behind{}, above{};            ///< drawn in the plot below the curves, and above them
};

/// The mouse over a plot, in units of its axes.
struct PanelMouse {
  bool over = false, clicked = false;  ///< clicked: released without a drag; the first click of a double click alone
  double x = 0, y = 0;
  ImVec2 from{}, to{};  ///< the plot's corners on screen; equal: it has no room
};

/// The colour of an ink.
Colour ink_colour(Ink ink);

/// True if curve i is drawn, by the bits of what is hidden.
constexpr bool is_shown(std::uint64_t hidden, std::size_t i) { return i >= 64 || (hidden >> i & 1) == 0; }

/// The shift of series i from its category, so that marks of several series stand apart; 0 without categories.
double category_shift(const FigurePanel& panel, std::size_t i);

/// The entry of a series in a legend.
LegendName legend_name(const Series& series, bool hidden);

/// Draws the panel; y is fitted to what is shown. A panel with categories has them from top to bottom, and y across.
PanelMouse draw_panel(const FigurePanel& panel, const PanelLook& look, ImVec2 size);

/// A vertical line in the current plot, with a text beside its top; dashed where there is one.
void draw_vertical(double x, Colour colour, float weight, const std::string& text = "");
/// Shades [from, to] of the current plot's x axis.
void shade_range(double from, double to, Colour colour);

}  // namespace attoscope::ui
