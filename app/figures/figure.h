/// A figure as a value: the panels that are printed together.
#pragma once

#include <string>
#include <vector>

#include "ui/frame/figure_panel.h"

namespace attoscope {

struct Figure {
  std::string name;     ///< of its files
  std::string caption;  ///< the computed experiment; a text beside the picture, not in it
  std::vector<FigurePanel> panels;
  int columns = 1;  ///< of a two-column page that it spans
  int panels_across = 1;
  double aspect = 0;  ///< height of a panel over its width; 0: as usual
};

/// Widths of print, in mm.
inline constexpr double one_column_mm = 85, two_columns_mm = 175;

/// A line for each value of each series: panel, series, x (or its category), y, low, high; heat maps: panel, "", x, y, value.
std::string figure_csv(const Figure& figure);

}  // namespace attoscope
