/// A figure as a value: panels of series with error bars, or heat maps; whatever draws it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attoscope {

/// Colours with a meaning, as in the window's light theme, then six for series that have none (told apart under colour-vision
/// deficiencies, and by their marks).
enum class Ink : std::uint8_t { a, b, golden, moved, bad, good, one, two, three, four, five, six };

enum class Shape : std::uint8_t { line, marks, line_and_marks, steps, bars };

/// y over x; NaN is a gap.
struct Series {
  std::string label;
  Ink ink = Ink::a;
  Shape shape = Shape::line_and_marks;
  bool dashed = false;
  std::vector<double> x, y;
  std::vector<double> low, high;  ///< ends of the error bars; empty: none
};

struct FigureAxis {
  std::string label;
  bool log = false;
  int base = 10;                        ///< of the ticks of a log axis
  std::vector<std::string> categories;  ///< names of x = 0, 1, ...; empty: numbers
  std::optional<double> min, max;
};

/// Values at the centres of cells, the first row at the top; already pooled to what the figure shows.
struct FigureHeat {
  int width = 0, height = 0;
  std::vector<float> values;
  double x0 = 0, x1 = 1, y0 = 0, y1 = 1;  ///< edges; y0 at the top
  bool diverging = true, log = false;     ///< log: signed, asinh
  double range = 1;
  std::string label;                      ///< of the colour bar
};

struct FigurePanel {
  std::string title;
  FigureAxis x, y;
  std::vector<Series> series;
  std::optional<FigureHeat> heat;
};

struct Figure {
  std::string name;     ///< of its files
  std::string caption;  ///< what was computed; a text beside the picture, not in it
  std::vector<FigurePanel> panels;
  int columns = 1;      ///< of a two-column page that it spans
  int panels_across = 1;
};

/// A line for each value of each series: panel, series, x (or its category), y, low, high; heat maps: panel, "", x, y, value.
std::string figure_csv(const Figure& figure);

}  // namespace attoscope
