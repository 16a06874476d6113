/// Ranges and ticks of a plot's axes, for the window and for print.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "ui/frame/figure_panel.h"

namespace attoscope::ui {

/// The least and the greatest finite number.
struct NumberSpan {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void take(double v) {
    if (std::isfinite(v)) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
  }
};

/// Range of the x axis: the panel's limits, else its points with a margin; around a single number half of it to either side.
NumberSpan x_range(const FigurePanel& panel);
/// Range of the y axis around these series: the axis's limits, else the numbers with a margin; from 0 if no number is negative
/// and the least is below 0.4 times the greatest or bars are drawn.
NumberSpan y_range(const FigureAxis& axis, std::span<const Series* const> shown);

/// Multiples of 1, 2 or 5 times a power of ten between y0 and y1, at most `most` of them.
std::vector<double> round_ticks(double y0, double y1, double most);
/// Ticks of an axis: `round_ticks`; on a log axis with y1 >= 8 y0, powers of ten, up to y1 = 100 y0 with 2 and 5 times these.
std::vector<double> axis_ticks(double y0, double y1, bool log, double most);
/// The shortest text that identifies a tick's number.
std::string tick_text(double value);

}  // namespace attoscope::ui
