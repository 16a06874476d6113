/// The plots at the lower right of the window as values, for the panel and for figures.
#pragma once

#include "ui/frame/figure_panel.h"
#include "ui/frame/ui_state.h"
#include "ui/statistics/traffic.h"

namespace attoscope {

struct Attribution;

/// Smallest share of elements in the histogram of ulps.
inline constexpr double least_share = 1e-6;
/// Histogram of signed errors: shares of the bins, each at its middle.
FigurePanel ulps_panel(const Result& result);

/// True if an element has a finite error above 0, so that there is a point to draw.
bool has_points(const ScatterPoints& scatter);

/// Change of the mean error in percent if each step were exact.
FigurePanel why_panel(const Attribution& attribution);

/// Bytes between HBM and the chip, one bar for each algorithm.
FigurePanel bytes_panel(const TrafficOfAll& all);
/// Roofline of a machine, with one point for each algorithm.
FigurePanel roofline_panel(const TrafficOfAll& all, const DataSheet& machine);

}  // namespace attoscope
