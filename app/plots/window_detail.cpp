// What stands at the lower right of the window, as panels: ulps, scatter, attribution, traffic.
#include <stdexcept>

#include "app/plots/window_plots.h"
#include "ui/frame/ui_state.h"
#include "ui/frame/why.h"
#include "ui/statistics/panels.h"
#include "ui/statistics/statistics.h"

namespace attoscope {

std::vector<FigurePanel> ulps_panels(const Result& r) { return {ulps_panel(r)}; }

std::vector<FigurePanel> scatter_panels(const std::shared_ptr<const Result>& result) {
  ScatterState state;
  refresh_scatter(state, result);
  if (!has_points(state)) throw std::invalid_argument("Neither a nor b has any error, so there is no point to draw.");
  return {state.panel};
}

std::vector<FigurePanel> why_panels(const Attribution& all) {
  if (all.steps.empty())
    throw std::invalid_argument("No step of a rounds anything but the inputs, so there is nothing to attribute.");
  return {why_panel(all)};
}

std::vector<FigurePanel> traffic_panels(const Result& r, Machine machine) {
  const Palette& colours = palette(Theme::light);
  const TrafficOfAll all = traffic_of_all(r, colours);
  return {bytes_panel(all, colours), roofline_panel(all, data_sheets[static_cast<std::size_t>(machine)], colours)};
}

}  // namespace attoscope
