/// A figure as a value: the panels that are printed together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ui/frame/figure_panel.h"

namespace attoscope::app {

/// The size and the letters of a printed figure, as chosen once.
struct FigureStyle {
  int columns = 0;             ///< of a two-column page that it spans, 1 or 2; 0: as many as the figure wants
  bool slide = false;          ///< as wide as a slide instead, with larger letters and heavier lines
  std::string font = "Inter";  ///< in TikZ the document's own
  int font_size = 0;           ///< points; 0: 8 in print, 18 on a slide

  friend bool operator==(const FigureStyle&, const FigureStyle&) = default;
};

struct Figure {
  std::string name;     ///< of its files
  std::string caption;  ///< the computed experiment; a text beside the picture, not in it
  std::vector<ui::FigurePanel> panels;
  int columns = 1;  ///< of a two-column page that it spans
  int panels_across = 1;
  double aspect = 0;  ///< height of a panel over its width; 0: as usual
  FigureStyle style{};
};

/// Widths of print and of a slide, in mm.
inline constexpr double one_column_mm = 85, two_columns_mm = 175, slide_mm = 254;
double width_mm(const Figure& figure);
/// Points of its letters.
int font_points(const Figure& figure);

/// The figure in a style: panels stand one below the other where one column is asked for.
Figure in_style(Figure figure, const FigureStyle& style);

/// True of letters, digits, blanks and hyphens, and at least one of them.
bool is_font_name(std::string_view name);

/// A line for each value of each series: panel, series, x (or its category), y, low, high; heat maps: panel, "", x, y, value.
std::string figure_csv(const Figure& figure);

}  // namespace attoscope::app
