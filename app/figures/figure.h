/// A figure as a value: panels printed together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ui/frame/figure_panel.h"

namespace attoscope::app {

/// Size and font of a printed figure.
struct FigureStyle {
  int columns = 0;             ///< columns of a two-column page that it spans, 1 or 2; 0: the figure's own
  bool slide = false;          ///< as wide as a slide instead, with larger letters and heavier lines
  std::string font = "Inter";  ///< TikZ uses the document's font
  int font_size = 0;           ///< points; 0: 8 in print, 18 on a slide

  friend bool operator==(const FigureStyle&, const FigureStyle&) = default;
};

struct Figure {
  std::string name;     ///< of its files
  std::string caption;  ///< describes the computed experiment; not part of the picture
  std::vector<ui::FigurePanel> panels;
  int columns = 1;  ///< of a two-column page that it spans
  int panels_across = 1;
  double aspect = 0;  ///< height of a panel over its width; 0: default
  FigureStyle style{};
};

/// Widths of print and of a slide, in mm.
inline constexpr double one_column_mm = 85, two_columns_mm = 175, slide_mm = 254;
double width_mm(const Figure& figure);
/// Font size in points.
int font_points(const Figure& figure);

/// The figure in a style; with one column its panels are stacked.
Figure in_style(Figure figure, const FigureStyle& style);

/// True if the name is not empty and has only letters, digits, blanks and hyphens.
bool is_font_name(std::string_view name);

/// A line for each value of each series: panel, series, x (or its category), y, low, high; heat maps: panel, "", x, y, value.
std::string figure_csv(const Figure& figure);

}  // namespace attoscope::app
