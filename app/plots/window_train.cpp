// The curves of the Train workspace as figures.
#include <fmt/format.h>

#include <stdexcept>

#include "app/plots/window_plots.h"
#include "app/train/train_figures.h"
#include "ui/train/series.h"

namespace attoscope {

Figure train_plot(Plot plot, const Session& session, const TrainView& train) {
  const std::shared_ptr<const TrainRecord>& record = train.record;
  if (!record || record->step == 0) throw std::invalid_argument("Nothing was trained yet, so there is nothing to draw.");
  TrainDrawing drawing;
  refresh(drawing, record, session.train_look, train.seeds);
  Figure f;
  f.name = plot_names[static_cast<std::size_t>(plot)];
  f.columns = session.view.figure.two_columns ? 2 : 1;
  constexpr double pixels = 2000;  // of print
  const StepView view{0, drawing.last, pixels};
  f.panels.push_back(plot == Plot::train_runs ? run_panel(drawing, drawing.look, view)
                                              : deviation_panel(drawing, drawing.look, view));
  if (f.panels[0].series.empty()) f.panels[0].series.push_back(series_of("", Ink::text, Shape::line));
  f.caption =
      std::string(plot == Plot::train_runs ? "What each run gave, step by step; " : "Difference of weights over training; ") +
      (drawing.seeds.empty() ? "" : fmt::format("bars: the least and the greatest of {} seeds; ", drawing.seeds.size() + 1)) +
      training_conditions(*record);
  return f;
}

}  // namespace attoscope
