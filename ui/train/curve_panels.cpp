#include "ui/train/curve_panels.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

#include "ui/frame/pair_look.h"

namespace attoscope {
namespace {

/// Curves of at most so many points show each of them.
constexpr std::size_t few_points = 24;

/// What tells a curve from the others.
struct CurveName {
  std::string label;
  Ink ink;
  bool dashed;
};

/// What is drawn of a curve; what a logarithmic axis cannot show is a gap.
Series curve_series(GrowingCurve& curve, const StepView& view, bool log, CurveName name) {
  const Points& points = curve.drawn(view.from, view.to, view.pixels);
  Series s = series_of(std::move(name.label), name.ink, points.x.size() > few_points ? Shape::line : Shape::line_and_marks,
                       points.x, points.y);
  s.dashed = name.dashed;
  curve.band(s.x, s.low, s.high);
  if (log && !(curve.least() > 0))
    for (std::vector<double>* const values : {&s.y, &s.low, &s.high})
      for (double& y : *values)
        if (!(y > 0)) y = std::numeric_limits<double>::quiet_NaN();
  return s;
}

/// An empty panel over steps.
FigurePanel over_steps(std::string y, bool log) {
  FigurePanel p;
  p.x = number_axis("training step");
  p.x.whole = true;
  p.y = number_axis(std::move(y), log);
  return p;
}

std::string titled(const MeasureText& text) { return text.title + (*text.unit ? std::string(", ") + text.unit : ""); }

/// What a run measure is called, and of which head it is.
std::string run_title(const TrainLook& look) {
  const std::string title = titled(text_of(look.of_runs));
  if (!is_of_heads(look.of_runs)) return title;
  return title + (look.worst ? ", worst head" : fmt::format(", layer {} head {}", look.layer, look.head));
}

std::string pair_title(const TrainDrawing& d) {
  const TrainRecord& record = *d.record;
  std::string title = titled(text_of(d.look.measure));
  if (d.look.tensor >= 0 && static_cast<std::size_t>(d.look.tensor) < record.parameters.tensors.size())
    title += " of " + record.parameters.tensors[static_cast<std::size_t>(d.look.tensor)].name;
  return d.reference < 0 ? title : title + " / that of " + record.pairs[static_cast<std::size_t>(d.reference)].pair.name;
}

CurveName pair_curve(const TrainRecord& record, std::size_t i) {
  if (i >= record.pairs.size()) return {pair_name(record, i), Ink::a, true};
  const PairPlan& pair = record.pairs[i].pair;
  return {pair_label(pair), pair_ink(pair, i), is_dashed(pair, i)};
}

CurveName run_curve(const TrainRecord& record, std::size_t i) {
  constexpr std::array others{Ink::two, Ink::three, Ink::four, Ink::five, Ink::six};  // the first is b's blue
  return {record.runs[i].run.name, i == 0 ? Ink::a : i == 1 ? Ink::b : others[(i - 2) % others.size()], i > 1};
}

}  // namespace

FigurePanel deviation_panel(TrainDrawing& d, const TrainLook& look, const StepView& view) {
  FigurePanel p = over_steps(pair_title(d), axis_of(d.pairs, look.hidden, look.log_y && is_size(look.measure)).log);
  for (std::size_t i = 0; i < d.pairs.size(); ++i)
    if (is_shown(look.hidden, i)) p.series.push_back(curve_series(d.pairs[i], view, p.y.log, pair_curve(*d.record, i)));
  return p;
}

FigurePanel run_panel(TrainDrawing& d, const TrainLook& look, const StepView& view) {
  FigurePanel p = over_steps(run_title(look), axis_of(d.runs, look.hidden_runs, look.log_runs).log);
  for (std::size_t i = 0; i < d.runs.size(); ++i)
    if (is_shown(look.hidden_runs, i)) p.series.push_back(curve_series(d.runs[i], view, p.y.log, run_curve(*d.record, i)));
  return p;
}

}  // namespace attoscope
