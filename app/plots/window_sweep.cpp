// The sweep of the Sweep workspace as a figure.
#include <stdexcept>

#include "app/plots/window_plots.h"
#include "app/sweep/sweeper.h"
#include "ui/frame/sweep_heat.h"
#include "ui/sweep/series.h"

namespace attoscope {

Figure sweep_plot(const Session& session, const std::shared_ptr<const SweepTable>& table) {
  const PlannedSweep plan = planned(session.sweep, session.experiment);
  if (!plan.sweep)
    throw std::invalid_argument("The plan of the sweep cannot be drawn: " + plan.about.wrong_values[0] +
                                plan.about.wrong_values[1] + plan.about.wrong);
  if (!table || table->cells.empty())
    throw std::invalid_argument("Nothing of the sweep is known yet, so there is nothing to draw.");
  Figure f;
  f.name = "sweep";
  if (session.sweep.heat_map && table->axes.size() > 1) {
    f.panels.push_back(sweep_heat_panel(*table));
  } else {
    SweepDrawing drawing;
    refresh(drawing, table, session.sweep);
    f.panels.push_back(sweep_panel(drawing));
  }
  f.columns = session.view.figure.two_columns ? 2 : 1;
  f.caption = table->measure + " over " + table->axes[0].title +
              (table->axes.size() > 1 ? " and " + table->axes[1].title : "") + ", " + std::to_string(table->seeds) +
              " seeds; attoscope " ATTOSCOPE_VERSION ".";
  return f;
}

}  // namespace attoscope
