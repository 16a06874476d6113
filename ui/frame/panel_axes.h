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
    if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  }
};

/// The whole x axis: as the panel says, else its points with a margin.
NumberSpan x_range(const FigurePanel& panel);
/// The y axis around these series: as the axis says, else from 0 where the least number is small beside the greatest, or
/// where bars stand on it.
NumberSpan y_range(const FigureAxis& axis, std::span<const Series* const> shown);

/// Multiples of 1, 2 or 5 times a power of ten between y0 and y1, at most `most` of them.
std::vector<double> round_ticks(double y0, double y1, double most);
/// The same; on a logarithmic axis of at least a factor of 8 powers of ten, and within two of them 2 and 5 times these.
std::vector<double> axis_ticks(double y0, double y1, bool log, double most);
/// The shortest text of a tick that tells its number.
std::string tick_text(double value);

}  // namespace attoscope::ui
