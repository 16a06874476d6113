// The two plots over steps: comparisons, and the runs themselves.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "imgui.h"
#include "ui/frame/pair_look.h"
#include "ui/train/panels.h"
#include "ui/train/words.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr float title_height = 24, legend_height = 18, combo_width = 150;

template <class Measure, std::size_t N>
void pick_measure(const char* id, const std::array<std::string_view, N>& names, Measure& measure, const char* what) {
  const WithField f(Face::label, 22);
  if (!begin_combo(id, text_of(measure).title, px(combo_width))) {
    explain(std::string(what) + " " + text_of(measure).what, text_of(measure).formula);
    return;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const MeasureText& text = text_of(static_cast<Measure>(i));
    if (ImGui::Selectable((std::string(text.title) + "###" + std::string(names[i])).c_str(),
                          static_cast<std::size_t>(measure) == i))
      measure = static_cast<Measure>(i);
    explain(text.what, text.formula);
  }
  ImGui::EndCombo();
}

/// A toggle on the line of the previous item.
void beside(const char* text, bool& on, bool possible, const TrainScene& s, const std::string& what) {
  ImGui::SameLine(0, px(8));
  ImGui::BeginDisabled(!possible);
  toggle(text, s.colours, on);
  ImGui::EndDisabled();
  explain(what);
}

/// A text at the right of a plot's title, if there is room.
void draw_aside(const Box& box, const std::string& text, const Palette& colours) {
  const float left = ImGui::GetItemRectMax().x + px(12), room = box.max.x - left;
  if (room > px(40))
    draw_text({box.max.x, box.min.y + (px(title_height) - line_height(Face::small)) / 2}, Face::small, colours.faint,
              fitted(Face::small, text, room), 1);
}

/// The name of the compared tensor.
std::string tensor_text(const TrainRecord& r, const TrainLook& look) {
  if (look.measure == TrainMeasure::loss_difference) return "";
  const auto i = static_cast<std::size_t>(look.tensor);
  return look.tensor >= 0 && i < r.parameters.tensors.size() ? r.parameters.tensors[i].name : "all tensors";
}

void deviation_title(const TrainScene& s, const Box& box) {
  TrainLook& look = s.look();
  const TrainRecord& r = *s.record();
  ImGui::SetCursorScreenPos(box.min);
  pick_measure("##measure", train_measure_names, look.measure, "The measure of the distance between two models' weights.");
  const int unit = reference_of(r, look.measure, look.tensor);
  const std::string unit_name = unit >= 0 ? r.pairs[static_cast<std::size_t>(unit)].pair.name : "";
  beside("relative", look.relative, is_size(look.measure) && unit >= 0, s,
         unit >= 0 ? "Divides every curve by '" + unit_name + "' at the same step, which is then 1."
                   : "There is nothing to divide by: the kind 'bands' trains references.");
  beside("log", look.log_y, is_size(look.measure), s, "A logarithmic axis.");
  ImGui::SameLine(0, px(8));
  ImGui::BeginDisabled(!(s.state.zoom1 > s.state.zoom0));
  if (push_button("all steps###all steps", s.colours)) s.state.zoom0 = s.state.zoom1 = 0;
  ImGui::EndDisabled();
  explain("Shows all steps. The wheel zooms the plots, a drag moves them; a double click shows all, too.");
  draw_aside(box, s.state.drawing.reference >= 0 ? "of " + unit_name + ", " + tensor_text(r, look) : tensor_text(r, look),
             s.colours);
}

/// The sum of the direct effects up to a step.
double added_up(const PairRecord& pair, const TrainLook& look, int step) {
  double sum = 0;
  for (const PairPoint& p : pair.points)
    if (p.step <= step) sum += measure_of(p, look.measure, look.tensor);
  return sum;
}

/// A curve's number at a step, as the plot shows it.
double deviation_at(const TrainScene& s, std::size_t i, int step) {
  const TrainRecord& r = *s.record();
  const TrainLook& look = s.look();
  if (i >= r.pairs.size()) return added_up(r.pairs[0], look, step);
  return shown_measure(r, i, step, look, s.state.drawing.reference);
}

void runs_title(const TrainScene& s, const Box& box) {
  TrainLook& look = s.look();
  ImGui::SetCursorScreenPos(box.min);
  pick_measure("##of runs", run_measure_names, look.of_runs, "A number of each model by itself.");
  ImGui::PushID("runs");
  beside("log", look.log_runs, true, s, "A logarithmic axis.");
  ImGui::PopID();
  if (is_of_heads(look.of_runs)) {
    beside("worst head", look.worst, true, s,
           "At every step the head with the largest magnitude, instead of the one chosen in the table of heads.");
    draw_aside(box, look.worst ? text_of(look.of_runs).unit : fmt::format("layer {}, head {}", look.layer, look.head),
               s.colours);
  } else {
    const std::string runs = runs_text(*s.record());
    draw_aside(box, runs.empty() ? text_of(look.of_runs).unit : runs, s.colours);
  }
}

/// The axis that holds the shown curves and those of abandoned branches.
TrainAxis axis_with(const std::vector<GrowingCurve>& curves, const std::vector<GhostCurve>& ghosts, std::uint64_t hidden,
                    bool log) {
  std::vector<const GrowingCurve*> all;
  for (std::size_t i = 0; i < curves.size(); ++i)
    if (is_shown(hidden, i)) all.push_back(&curves[i]);
  for (const GhostCurve& g : ghosts)
    if (is_shown(hidden, g.of)) all.push_back(g.curve);
  return axis_of(all, log);
}

/// The curves of the branches; `place` finds the matching curve of the present record.
template <class All, class Place>
std::vector<GhostCurve> ghosts_of(TrainPanelState& state, std::vector<GrowingCurve> TrainDrawing::* curves,
                                  All TrainRecord::* all, const Place& place) {
  std::vector<GhostCurve> ghosts;
  for (TrainBranch& b : state.branches.left)
    for (std::size_t i = 0; i < (*b.record.*all).size() && i < (b.drawing.*curves).size(); ++i)
      if (const int of = place(*state.drawing.record, (*b.record.*all)[i]); of >= 0)
        ghosts.push_back({&(b.drawing.*curves)[i], static_cast<std::size_t>(of), b.from});
  return ghosts;
}

/// Title, legend and plot, from the top.
void draw_parts(const TrainScene& s, const CurvePlot& plot, const Box& box) {
  draw_curve_legend(s, plot, {box.min.x + px(2), box.min.y + px(title_height + 4)}, box.max.x - box.min.x);
  draw_curve_plot(s, plot, {{box.min.x, box.min.y + px(title_height + legend_height + 6)}, box.max});
}

/// Curves of at most so many points show each of them.
constexpr std::size_t few_points = 24;

/// The label and look of a curve.
struct CurveName {
  std::string label;
  Ink ink;
  bool dashed;
};

/// The visible points of a curve; numbers that a logarithmic axis cannot show are gaps.
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

/// The title of a run measure, with its head.
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

void draw_train_deviation(const TrainScene& s, const Box& box) {
  const TrainRecord& r = *s.record();
  TrainDrawing& d = s.state.drawing;
  deviation_title(s, box);
  const bool log = s.look().log_y && is_size(s.look().measure);
  std::vector<GhostCurve> ghosts = ghosts_of(s.state, &TrainDrawing::pairs, &TrainRecord::pairs, place_of_pair);
  CurvePlot plot{"##deviation",
                 d.pairs,
                 {},
                 {},
                 s.look().hidden,
                 axis_with(d.pairs, ghosts, s.look().hidden, log),
                 [&](const StepView& view) { return deviation_panel(d, s.look(), view); },
                 "",
                 [&](std::size_t i, int step) { return deviation_at(s, i, step); }};
  for (std::size_t p = 0; p < d.pairs.size(); ++p) {
    plot.styles.push_back(pair_style(r, p, s.session.view.theme));
    plot.names.push_back(pair_name(r, p));
  }
  plot.ghosts = std::move(ghosts);
  if (!d.pairs.empty() && !d.pairs[0].empty() && d.pairs[0].largest() == 0 && d.pairs[0].least() == 0)
    plot.nothing = pair_name(r, 0) + " is exactly 0 at every step.";
  draw_parts(s, plot, box);
  offer_export({Plot::train_deviation, "deviation", box.min, box.max, [&] { return deviation_csv(r); }}, s.session.view,
               s.colours, s.requests);
}

void draw_train_runs(const TrainScene& s, const Box& box) {
  const TrainRecord& r = *s.record();
  TrainDrawing& d = s.state.drawing;
  runs_title(s, box);
  std::vector<GhostCurve> ghosts = ghosts_of(s.state, &TrainDrawing::runs, &TrainRecord::runs, place_of_run);
  CurvePlot plot{"##runs",
                 d.runs,
                 {},
                 {},
                 s.look().hidden_runs,
                 axis_with(d.runs, ghosts, s.look().hidden_runs, s.look().log_runs),
                 [&](const StepView& view) { return run_panel(d, s.look(), view); },
                 "",
                 [&](std::size_t i, int step) { return shown_number(r, i, step, s.look()); }};
  for (std::size_t i = 0; i < d.runs.size(); ++i) {
    plot.styles.push_back(run_style(r, i, s.session.view.theme));
    plot.names.push_back(r.runs[i].run.name);
  }
  plot.ghosts = std::move(ghosts);
  plot.marks = d.skipped;
  plot.snaps = is_of_heads(s.look().of_runs);
  draw_parts(s, plot, box);
  offer_export(
      {Plot::train_runs, "runs", box.min, box.max, [&] { return is_of_heads(s.look().of_runs) ? health_csv(r) : runs_csv(r); }},
      s.session.view, s.colours, s.requests);
}

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
