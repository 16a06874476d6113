/// What stands at the lower right of the window as values: what the panel draws, and what its figures print.
#pragma once

#include "ui/frame/figure_panel.h"
#include "ui/frame/ui_state.h"
#include "ui/statistics/traffic.h"

namespace attoscope {

struct Attribution;

/// The least share of elements that the histogram of ulps shows.
inline constexpr double least_share = 1e-6;
/// How often each signed error occurs: shares of the bins, each at its middle.
FigurePanel ulps_panel(const Result& result);

/// True if an element errs by a finite amount, so that there is a point to draw.
bool has_points(const ScatterPoints& scatter);

/// By how many percent the mean error would change if each step were exact.
FigurePanel why_panel(const Attribution& attribution);

/// Bytes between HBM and the chip, a bar for each algorithm.
FigurePanel bytes_panel(const TrafficOfAll& all, const Palette& colours);
/// The roof of a machine, then a point on it for each algorithm.
FigurePanel roofline_panel(const TrafficOfAll& all, const DataSheet& machine, const Palette& colours);

}  // namespace attoscope
