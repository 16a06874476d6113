// The sweep of the Sweep workspace as a figure.
#include <cmath>
#include <stdexcept>

#include "app/papers/sweep_figure.h"
#include "app/plots/window_plots.h"
#include "app/sweep/sweeper.h"

namespace attoscope {
namespace {

/// The same number of b beside that of a, over the only parameter.
void add_rival(FigurePanel& panel, const SweepTable& table) {
  if (!table.has_rival || table.axes.size() != 1 || panel.series.empty()) return;
  Series b = panel.series[0];
  panel.series[0].label.assign(1, 'a');
  b.label.assign(1, 'b');
  b.ink = Ink::b;
  b.dashed = true;
  b.low.clear(), b.high.clear();
  b.y.clear();
  for (const SweepCell& cell : table.cells)
    if (cell.count > 0) b.y.push_back(cell.rival);
  if (b.y.size() == b.x.size()) panel.series.push_back(std::move(b));
}

}  // namespace

Figure sweep_plot(const Session& session, const SweepTable* table) {
  const PlannedSweep plan = planned(session.sweep, session.experiment);
  if (!plan.sweep)
    throw std::invalid_argument("The plan of the sweep cannot be drawn: " + plan.about.wrong_values[0] +
                                plan.about.wrong_values[1] + plan.about.wrong);
  if (table == nullptr || table->cells.empty())
    throw std::invalid_argument("Nothing of the sweep is known yet, so there is nothing to draw.");
  const SweepStyle style{.spread = session.sweep.spread == SeedSpread::std ? SweepSpread::std : SweepSpread::min_max,
                         .heat_map = session.sweep.heat_map};
  Figure f = sweep_figure("sweep", *plan.sweep, plan.sweep->measure, rows_of(*table), style);
  for (FigurePanel& p : f.panels) {
    if (!p.heat) add_rival(p, *table);
    p.x.log &= session.sweep.log_x;
    p.y.log &= session.sweep.log_y;
  }
  f.columns = session.view.figure.two_columns ? 2 : 1;
  f.caption = table->measure + " over " + table->axes[0].title +
              (table->axes.size() > 1 ? " and " + table->axes[1].title : "") + ", " + std::to_string(table->seeds) +
              " seeds; attoscope " ATTOSCOPE_VERSION ".";
  return f;
}

}  // namespace attoscope
