/// The heat maps of the window as panels.
#pragma once

#include "app/plots/window_figures.h"
#include "ui/frame/ui_state.h"

namespace attoscope {

/// The printed size of a panel.
struct PanelPrint {
  double width_mm, height_mm;
};

/// Output, rescale map or scores, as the view says; two fields beside each other where two are compared.
std::vector<FigurePanel> heat_panels(const Session& session, const PlotData& data, const PanelPrint& print);
/// The tensor, or the pairs of a window, in the heat map of the view.
ShownTensor shown_in(const Session& session, const PlotData& data);
/// The number of panels.
int heat_panel_count(const Session& session);

}  // namespace attoscope
