/// A plot as a value: axes, series and heat maps, drawn by the window, the CSV writer and gnuplot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attoscope::ui {

/// Colours with a meaning, as in the window's light theme; then six for other series, distinguishable under colour-vision
/// deficiencies and by their marks; text: the reference.
enum class Ink : std::uint8_t { a, b, golden, moved, bad, good, one, two, three, four, five, six, text };

/// steps: y holds from half a step before x to half a step after it. band: between low and high. dots: marks of many points.
enum class Shape : std::uint8_t { line, marks, line_and_marks, steps, bars, band, dots };

/// y over x; NaN is a gap.
struct Series {
  std::string label;
  Ink ink = Ink::a;
  Shape shape = Shape::line_and_marks;
  bool dashed = false;
  std::vector<double> x, y;
  std::vector<double> low, high;  ///< ends of the error bars, or edges of the band; empty: none
  int round = 0;                  ///< number of earlier series of the panel that have the ink by turn: each has another mark
};

struct FigureAxis {
  std::string label{};
  bool log = false;
  int base = 10;                          ///< base of a log axis's ticks
  bool whole = false;                     ///< ticks at whole numbers only
  std::string unit{};                     ///< "B": ticks are 500 kB, 1.5 MB; letters only
  std::vector<std::string> categories{};  ///< names of x = 0, 1, ...; empty: numbers
  std::optional<double> min{}, max{};
};

/// Colour map as 0xRRGGBB from the low end of the range to the high end, mixed in between (empty: the map of print), and marker
/// colours.
struct FigureColours {
  std::vector<std::uint32_t> map{};
  std::uint32_t nan = 0xc2301c, plus_infinity = 0xf0b400, minus_infinity = 0x2f3cff, nothing = 0xffffff, hatch = 0xa8a8a8;
};

/// Values at the centres of cells, the first row at the top, pooled to the figure's resolution.
struct FigureHeat {
  static constexpr float nothing = -3.0e38f, masked = -3.1e38f;  ///< no cell; a cell that the mask hides, drawn hatched
  int width = 0, height = 0;
  std::vector<float> values;
  double x0 = 0, x1 = 1, y0 = 0, y1 = 1;  ///< edges; y0 at the top
  bool diverging = true, log = false;     ///< log: signed, asinh
  double range = 1;
  double knee = 0;    ///< log: linear below this size; 0: 1/300 of the range
  std::string label;  ///< label of the colour bar
  FigureColours colours{};
  bool two_valued = false;  ///< values are 0 or `range`, named in the panel's title: no colour bar
};

struct FigurePanel {
  std::string title;
  FigureAxis x, y;
  std::vector<Series> series;
  std::optional<FigureHeat> heat;
};

/// An axis of numbers.
inline FigureAxis number_axis(std::string label, bool log = false) {
  FigureAxis axis;
  axis.label = std::move(label);
  axis.log = log;
  return axis;
}

/// A series of these points, or without points yet.
inline Series series_of(std::string label, Ink ink, Shape shape, std::vector<double> x = {}, std::vector<double> y = {}) {
  Series s;
  s.label = std::move(label);
  s.ink = ink;
  s.shape = shape;
  s.x = std::move(x);
  s.y = std::move(y);
  return s;
}

/// Gives the series number `place` of a panel its look: the six inks by turn.
inline void take_turn(Series& s, std::size_t place) {
  constexpr std::size_t inks = static_cast<std::size_t>(Ink::six) - static_cast<std::size_t>(Ink::one) + 1;
  s.ink = static_cast<Ink>(static_cast<std::size_t>(Ink::one) + place % inks);
  s.round = static_cast<int>(place / inks);
}

/// Finds the series with this label; null: none.
inline const Series* find_series(const FigurePanel& panel, std::string_view label) {
  for (const Series& s : panel.series)
    if (s.label == label) return &s;
  return nullptr;
}

}  // namespace attoscope::ui
