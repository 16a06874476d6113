/// The heat maps of the window as panels.
#pragma once

#include "app/plots/window_figures.h"

namespace attoscope {

/// How large a panel is printed.
struct PanelPrint {
  double width_mm, height_mm;
};

/// Output, rescale map or scores, as the view says; two fields beside each other where two are compared.
std::vector<FigurePanel> heat_panels(const Session& session, const PlotData& data, const PanelPrint& print);
/// How many of them there will be.
int heat_panel_count(const View& view);

}  // namespace attoscope
