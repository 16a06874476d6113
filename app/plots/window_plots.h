/// The panels of the window's plots, by what they are about.
#pragma once

#include "app/plots/window_figures.h"

namespace attoscope {

struct Result;

/// How large a panel is printed.
struct PanelPrint {
  double width_mm, height_mm;
};

/// Output, rescale map or scores, as the view says; two fields beside each other where two are compared.
std::vector<FigurePanel> heat_panels(const Session& session, const PlotData& data, const PanelPrint& print);
/// How many of them there will be.
int heat_panel_count(const View& view);

/// One plot of the recurrence, or all that are shown: of a, or, in b's colour, of b where a is loaded.
std::vector<FigurePanel> strip_panels(Plot plot, const View& view, const PlotData& data);

std::vector<FigurePanel> ulps_panels(const Result& result);
std::vector<FigurePanel> scatter_panels(const std::shared_ptr<const Result>& result);
std::vector<FigurePanel> why_panels(const Attribution& attribution);
std::vector<FigurePanel> traffic_panels(const Result& result, Machine machine);

/// The sweep of the session's plan as far as `table` knows it.
Figure sweep_plot(const Session& session, const std::shared_ptr<const SweepTable>& table);

/// The curves over the training's steps as the session's look has them. Throws where there is none.
Figure train_plot(Plot plot, const Session& session, const TrainView& train);

}  // namespace attoscope
