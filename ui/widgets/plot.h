/// Small plots in one style: title at the left, unit at the right, few grid lines.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "imgui.h"
#include "implot.h"
#include "ui/frame/figure_panel.h"
#include "ui/frame/panel_axes.h"  // IWYU pragma: export
#include "ui/widgets/theme.h"

namespace attoscope::ui {

/// Axes and ticks of a plot.
struct PlotFrame {
  const char* id;
  double x0, x1;  ///< range of the x axis
  double y0, y1;
  bool log_y = false;
  std::span<const double> x_ticks{}, y_ticks{};  ///< empty: round numbers on y and on log axes, ImPlot's on a linear x axis
  std::span<const char* const> x_labels{}, y_labels{};
  bool log_x = false, mouse = false;          ///< mouse: the plot accepts clicks
  bool hides_y = false;                       ///< no ticks of y
  double *from = nullptr, *to = nullptr;      ///< visible part of x, zoomed and moved by the mouse; null: all of x
  double least_span = 0;                      ///< least length of the visible part
  std::span<const std::string> categories{};  ///< names of y = 0, 1, ... from top to bottom; x is then the axis of y0 and y1
};

/// Begins a plot of `size`; call end_plot() if it returns true.
bool begin_plot(const PlotFrame& frame, ImVec2 size);
void end_plot();

/// Options of one curve.
ImPlotSpec stroke(Colour colour, float weight = 1.6f);
ImPlotSpec fill(Colour colour, float alpha = 1);
ImPlotSpec dots(Colour colour, float radius, bool filled);

/// Reduces the series over [x0, x1] and one point beyond each end to about two points a pixel: the least and the greatest.
Series decimated(const Series& series, double x0, double x1, double pixels);

/// Steps that hold y[i] over [x[i] - width / 2, x[i] + width / 2].
void draw_steps(const char* id, const Series& series, const ImPlotSpec& spec, double width = 1);
/// `draw_steps` on a logarithmic axis; values outside [low, high] are drawn at the nearer end, non-finite ones at high.
void draw_clamped_steps(const char* id, Series series, double low, double high, const ImPlotSpec& spec, double width = 1);

enum class CurveMark : std::uint8_t { line, dashes, dot, ring, diamond, band, bar };

struct LegendName {
  CurveMark mark = CurveMark::line;
  std::string id;  ///< its test label is "legend id"
  std::string name;
  Colour colour = 0;
  std::string what, formula;  ///< tooltip
  bool hidden = false;
  float dash = 0;  ///< length of dashes at UI scale 1, with a mark long enough to show it; 0: the usual length
};
/// Height of a legend with these names: as many lines as needed, at most `most`.
float height_of_legend(float width, std::span<const LegendName> entries, int most);
/// Draws the names in as many lines as needed, at most `most`; names that do not fit are shortened. Returns the index of the
/// clicked name, or -1.
int draw_legend(ImVec2 at, float width, std::span<const LegendName> entries, int most = 1);

}  // namespace attoscope::ui
