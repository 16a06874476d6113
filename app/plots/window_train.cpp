// The curves of the Train workspace as figures.
#include <array>
#include <stdexcept>
#include <utility>

#include "app/plots/window_plots.h"
#include "app/train/train_figures.h"
#include "ui/train/series.h"

namespace attoscope {
namespace {

/// A curve as the window shows it: all its points unless they are thousands.
Series series_of(const GrowingCurve& curve, double last, std::string label, Ink ink, bool dashed) {
  constexpr double pixels = 2000;  // of print, at two points each
  constexpr std::size_t few_points = 40;
  Points points = curve.points(0, last, pixels);
  Series s = series_of(std::move(label), ink, points.x.size() > few_points ? Shape::line : Shape::line_and_marks);
  s.dashed = dashed;
  s.x = std::move(points.x);
  s.y = std::move(points.y);
  return s;
}

/// An empty panel over the steps that were taken.
FigurePanel over_steps(const std::string& y, const TrainAxis& axis) {
  FigurePanel p;
  p.x = number_axis("training step");
  p.x.whole = true;
  p.y = number_axis(y, axis.log);
  return p;
}

/// What a run measure is called, and of which head it is.
std::string run_title(const TrainLook& look) {
  const MeasureText& text = text_of(look.of_runs);
  std::string title = text.title + (*text.unit ? std::string(", ") + text.unit : "");
  if (!is_of_heads(look.of_runs)) return title;
  return title + (look.worst ? ", worst head" : ", layer " + std::to_string(look.layer) + " head " + std::to_string(look.head));
}

std::string pair_title(const TrainRecord& record, const TrainLook& look, int reference) {
  const MeasureText& text = text_of(look.measure);
  std::string title = text.title + (*text.unit ? std::string(", ") + text.unit : "");
  if (look.tensor >= 0 && static_cast<std::size_t>(look.tensor) < record.parameters.tensors.size())
    title += " of " + record.parameters.tensors[static_cast<std::size_t>(look.tensor)].name;
  return reference < 0 ? title : title + " / that of " + record.pairs[static_cast<std::size_t>(reference)].pair.name;
}

Ink run_ink(std::size_t i) {
  constexpr std::array others{Ink::two, Ink::three, Ink::four, Ink::five, Ink::six};  // the first is b's blue
  return i == 0 ? Ink::a : i == 1 ? Ink::b : others[(i - 2) % others.size()];
}

FigurePanel deviation_panel(const TrainDrawing& d) {
  const TrainRecord& r = *d.record;
  FigurePanel p = over_steps(pair_title(r, d.look, d.reference), axis_of(d.pairs, d.look.hidden, d.look.log_y));
  for (std::size_t i = 0; i < d.pairs.size(); ++i) {
    const PairPlan& pair = r.pairs[i].pair;
    if (is_shown(d.look.hidden, i))
      p.series.push_back(series_of(d.pairs[i], d.last, pair_label(pair), pair_ink(pair, i), is_dashed(pair, i)));
  }
  return p;
}

FigurePanel run_panel(const TrainDrawing& d) {
  FigurePanel p = over_steps(run_title(d.look), axis_of(d.runs, d.look.hidden_runs, d.look.log_runs));
  for (std::size_t i = 0; i < d.runs.size(); ++i)
    if (is_shown(d.look.hidden_runs, i))
      p.series.push_back(series_of(d.runs[i], d.last, d.record->runs[i].run.name, run_ink(i), i > 1));
  return p;
}

}  // namespace

Figure train_plot(Plot plot, const Session& session, const std::shared_ptr<const TrainRecord>& record) {
  if (!record || record->step == 0) throw std::invalid_argument("Nothing was trained yet, so there is nothing to draw.");
  TrainDrawing drawing;
  refresh(drawing, record, session.train_look);
  Figure f;
  f.name = plot_names[static_cast<std::size_t>(plot)];
  f.columns = session.view.figure.two_columns ? 2 : 1;
  f.panels.push_back(plot == Plot::train_runs ? run_panel(drawing) : deviation_panel(drawing));
  if (f.panels[0].series.empty()) f.panels[0].series.push_back(series_of("", Ink::text, Shape::line));
  f.caption =
      std::string(plot == Plot::train_runs ? "What each run gave, step by step; " : "Difference of weights over training; ") +
      training_conditions(*record);
  return f;
}

}  // namespace attoscope
