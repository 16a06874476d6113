// The two plots over steps, comparisons and the runs themselves, and abandoned branches.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "implot.h"
#include "kernels/arithmetic/quoted.h"
#include "ui/train/panels.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

/// True if this step is the same in both records: its loss has the same bits.
bool same_step(const TrainRecord& x, const TrainRecord& y, int step) {
  if (step == 0) return true;
  if (x.runs.empty() || y.runs.empty()) return false;
  const StepReport *const one = step_at(x.runs[0], step), *const other = step_at(y.runs[0], step);
  if (one == nullptr || other == nullptr || one->step != step || other->step != step) return false;
  return one->loss == other->loss || (std::isnan(one->loss) && std::isnan(other->loss));
}

bool has_new_fork(const TrainRecord& before, const TrainRecord& now) {
  return !now.forks.empty() &&
         (now.forks.size() > before.forks.size() || now.forks.back().sentence != before.forks[now.forks.size() - 1].sentence);
}

/// The last step that `before` and `now` share if `now` abandoned later ones of `before`; else, or for another training, -1.
int left_after(const TrainRecord& before, const TrainRecord& now) {
  const bool forked = has_new_fork(before, now);
  const int step = forked ? now.forks.back().step : now.step;
  const bool has_more = before.step > step && (forked || step > 0);
  return has_more && same_step(before, now, step) ? step : -1;
}

constexpr float title_height = 24, legend_height = 18, combo_width = 150;

template <class Measure, std::size_t N>
void pick_measure(const char* id, const std::array<std::string_view, N>& names, Measure& measure, const char* what) {
  const WithField f(Face::label, 22);
  const float beside_it = px(164);  // for two toggles
  if (!begin_combo(id, text_of(measure).title, std::min(px(combo_width), ImGui::GetContentRegionAvail().x - beside_it))) {
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
void beside(const char* text, bool& on, bool possible, const std::string& what) {
  ImGui::SameLine(0, px(8));
  if_possible(possible, [&] { toggle(text, on); });
  explain(what);
}

/// Draws a text at the right of a plot's title: as many of its parts, up to a comma or semicolon, as fit.
void draw_aside(const Box& box, const std::string& text) {
  const float left = ImGui::GetItemRectMax().x + px(12), room = box.max.x - left;
  std::string shown = text;
  for (std::size_t end = text.size(); text_width(Face::small, shown) > room; shown = text.substr(0, end + 1) + " …") {
    end = text.find_last_of(",;", end - 1);
    if (end == std::string::npos) return;
  }
  draw_in_line({box.max.x, box.min.y}, px(title_height), Face::small, colours().faint, shown, 1);
  take_room({left, box.min.y}, {room, px(title_height)});
  explain(text);
}

/// The name of the compared tensor.
std::string tensor_text(const TrainRecord& r, const TrainLook& look) {
  if (look.measure == TrainMeasure::loss_difference) return "";
  const ParameterTensor* const tensor = tensor_of(r, look);
  return tensor != nullptr ? tensor->name : "all tensors";
}

/// True if the button that shows all steps fits into the first of the two title lines.
bool fits_first_line(const Box& box) { return box.width() >= px(400); }

void all_steps_beside(const TrainScene& s) {
  ImGui::SameLine(0, px(8));
  if (push_button("all steps###all steps", false, {0, 0}, s.state.zoom1 > s.state.zoom0)) s.state.zoom0 = s.state.zoom1 = 0;
  explain("Shows all steps. The wheel zooms the plots, a drag moves them; a double click shows all, too.");
}

void deviation_title(const TrainScene& s, const Box& box) {
  TrainLook& look = s.look();
  const TrainRecord& r = *s.record();
  ImGui::SetCursorScreenPos(box.min);
  pick_measure("##measure", train_measure_names, look.measure, "The measure of the distance between two models' weights.");
  const int unit = reference_of(r, look.measure, look.tensor);
  const std::string unit_name = unit >= 0 ? r.pairs[static_cast<std::size_t>(unit)].pair.name : "";
  beside("relative", look.relative, is_size(look.measure) && unit >= 0,
         unit >= 0 ? "Divides every curve by '" + unit_name + "' at the same step, which is then 1."
                   : "There is nothing to divide by: the kind 'bands' trains references.");
  beside("log", look.log_y, is_size(look.measure), "A logarithmic axis.");
  if (fits_first_line(box)) all_steps_beside(s);
  draw_aside(box, s.state.drawing.reference >= 0 ? "of " + unit_name + ", " + tensor_text(r, look) : tensor_text(r, look));
}

void runs_title(const TrainScene& s, const Box& box) {
  TrainLook& look = s.look();
  ImGui::SetCursorScreenPos(box.min);
  pick_measure("##of runs", run_measure_names, look.of_runs, "A number of each model by itself.");
  ImGui::PushID("runs");
  beside("log", look.log_runs, true, "A logarithmic axis.");
  ImGui::PopID();
  if (is_of_heads(look.of_runs))
    beside("worst head", look.worst, true,
           "At every step the head with the largest magnitude, instead of the one chosen in the table of heads.");
  if (!fits_first_line(box)) all_steps_beside(s);
  if (is_of_heads(look.of_runs)) {
    draw_aside(box, look.worst ? text_of(look.of_runs).unit : fmt::format("layer {}, head {}", look.layer, look.head));
  } else {
    const std::string runs = runs_text(*s.record());
    draw_aside(box, runs.empty() ? text_of(look.of_runs).unit : runs);
  }
}

/// One of the two plots over steps.
struct StepPlot {
  const char* id;
  FigurePanel& panel;
  const FigurePanel TrainDrawing::* of_branch;
  std::uint64_t& hidden;
  bool log = false;                 ///< wanted; linear if no number is above 0
  std::span<const double> marks{};  ///< steps that are marked at the bottom
  std::string nothing{};            ///< the reason for a missing curve
};

/// The curves of abandoned branches, from the step at which each was left.
std::vector<Series> pale_curves(const TrainPanelState& m, const StepPlot& plot) {
  std::vector<Series> pale;
  for (const TrainBranch& b : m.branches.left)
    for (std::size_t i = 0; i < plot.panel.series.size(); ++i) {
      const Series* const left = find_series(b.drawing.*plot.of_branch, plot.panel.series[i].label);
      if (left == nullptr || !is_shown(plot.hidden, i)) continue;
      const auto from = std::ranges::lower_bound(left->x, b.from) - left->x.begin();
      pale.push_back(series_of("", left->ink, Shape::line, {left->x.begin() + from, left->x.end()},
                               {left->y.begin() + from, left->y.end()}));
    }
  return pale;
}

/// Vertical lines at forks, stopped runs, the picked step and the step under the mouse, and marks at the bottom.
void draw_marks(const TrainScene& s, std::span<const double> marks) {
  const TrainRecord& r = *s.record();
  for (const Fork& f : r.forks) draw_vertical(f.step, colours().secondary, 1, "fork");
  for (const TrainBranch& b : s.state.branches.left)
    if (!b.fork) draw_vertical(b.from, colours().faint, 1, "back");
  for (const RunRecord& run : r.runs)
    if (!run.stopped.empty())
      draw_vertical(run.steps.empty() ? 0 : run.steps.back().step, colours().bad, 1, named(r.plan, run.run.name) + " stopped");
  draw_picked(s);
  ImDrawList* list = ImPlot::GetPlotDrawList();
  const float bottom = ImPlot::GetPlotPos().y + ImPlot::GetPlotSize().y, half = px(3);
  for (const double step : marks) {
    const float x = ImPlot::PlotToPixels(step, ImPlot::GetPlotLimits().Y.Min).x;
    list->AddTriangleFilled({x, bottom - px(6)}, {x - half, bottom}, {x + half, bottom}, colours().bad);
  }
}

/// The number of a curve at a step, and its range over all seeds.
struct CurveRead {
  double value = nan;
  std::string band{};
  std::size_t i = 0;
};
CurveRead read_curve(const Series& s, int step, std::size_t i) {
  const auto at = std::ranges::lower_bound(s.x, step);
  if (at == s.x.end() || *at != step) return {.i = i};
  const auto k = static_cast<std::size_t>(at - s.x.begin());
  return {s.y[k], s.low.empty() ? "" : value_text(s.low[k], 3) + " to " + value_text(s.high[k], 3), i};
}

/// The note at a step: all shown curves, the largest number first; forks, and runs that stopped there.
std::vector<NoteLine> note_of(const TrainScene& s, const StepPlot& plot, int step) {
  constexpr std::size_t most_noted = 12;
  std::vector<CurveRead> read;
  for (std::size_t i = 0; i < plot.panel.series.size(); ++i)
    if (is_shown(plot.hidden, i)) read.push_back(read_curve(plot.panel.series[i], step, i));
  std::ranges::stable_sort(read, std::greater{}, [](const CurveRead& r) { return std::isnan(r.value) ? -HUGE_VAL : r.value; });
  const std::size_t noted = std::min(read.size(), most_noted);
  const auto name_of = [&](std::size_t k) { return named(s.record()->plan, plot.panel.series[read[k].i].label); };
  std::size_t widest = 0;
  for (std::size_t k = 0; k < noted; ++k) widest = std::max(widest, name_of(k).size());
  std::vector<NoteLine> lines{{colours().text, fmt::format("step {}", step)}};
  for (std::size_t k = 0; k < noted; ++k) {
    const Series& curve = plot.panel.series[read[k].i];
    lines.push_back({ink_colour(curve.ink),
                     fmt::format("{:{}}  {:>9}  {}", name_of(k), widest, value_text(read[k].value, 4), read[k].band)});
  }
  if (read.size() > noted) lines.push_back({colours().faint, fmt::format("and {} more", read.size() - noted)});
  for (const Fork& f : s.record()->forks)
    if (f.step == step) lines.push_back({colours().secondary, "fork: " + f.sentence});
  for (const RunRecord& run : s.record()->runs)
    if (!run.stopped.empty() && !run.steps.empty() &&
        std::abs(run.steps.back().step - step) <= s.record()->plan.measure_every) {
      const std::string why = with_run_named(s.record()->plan, run.stopped);
      const std::string_view shown = first_characters(why, 90);
      lines.push_back({colours().bad, std::string(shown) + (shown.size() < why.size() ? "…" : "")});
    }
  return lines;
}

void list_all(const TrainPlan& plan, const StepPlot& plot, ImVec2 at, float width, std::size_t shown) {
  const std::string popup = std::string("curves of ") + plot.id;
  ImGui::SetCursorScreenPos(at);
  if (push_button(fmt::format("+ {} …###all curves", plot.panel.series.size() - shown).c_str(), false, {width, px(16)}))
    ImGui::OpenPopup(popup.c_str());
  explain("All curves, by name.");
  ImGui::SetNextWindowSizeConstraints({px(200), 0}, {px(420), px(460)});
  if (!ImGui::BeginPopup(popup.c_str())) return;
  for (std::size_t i = 0; i < plot.panel.series.size() && i < 64; ++i) {
    bool visible = is_shown(plot.hidden, i);
    if (toggle(named(plan, plot.panel.series[i].label).c_str(), visible, px(240))) plot.hidden ^= std::uint64_t{1} << i;
    explain("Shows or hides this curve.");
  }
  ImGui::EndPopup();
}

/// Draws the names of the curves in at most two lines and, if there are many, a list of all; a click hides or shows a curve.
/// Returns the height.
float draw_legend_of(const TrainPlan& plan, const StepPlot& plot, ImVec2 at, float width) {
  constexpr std::size_t most_named = 7;
  constexpr int most_lines = 2;
  const bool many = plot.panel.series.size() > most_named + 1;
  const float more = px(64), room = many ? width - more - px(8) : width;
  std::vector<LegendName> names;
  for (std::size_t i = 0; i < (many ? most_named : plot.panel.series.size()); ++i) {
    LegendName& x = names.emplace_back(legend_name(plot.panel.series[i], !is_shown(plot.hidden, i)));
    x.name = named(plan, x.id);
    x.what = x.name + ".";
  }
  const int clicked = draw_legend(at, room, names, most_lines);
  if (clicked >= 0) plot.hidden ^= std::uint64_t{1} << clicked;
  if (many) {
    const WithId id(plot.id);
    list_all(plan, plot, {at.x + width - more, at.y}, more, most_named);
  }
  return std::max(px(legend_height), height_of_legend(room, names, most_lines));
}

/// True if the curves' ends have room for their names.
bool names_fit() { return ImGui::GetWindowWidth() >= px(800); }

/// Legend and plot below the title; the mouse reads and picks a step.
void draw_plot(const TrainScene& s, const StepPlot& plot, const Box& box) {
  const float legend =
      draw_legend_of(s.record()->plan, plot, {box.min.x + px(2), box.min.y + px(title_height + 4)}, box.width());
  const ImVec2 at{box.min.x, box.min.y + px(title_height + 6) + legend};
  ImGui::SetCursorScreenPos(at);
  plot.panel.x.min = 0;
  plot.panel.x.max = s.state.drawing.last;
  plot.panel.y.log = plot.log && has_positive(plot.panel, plot.hidden);
  const std::vector<Series> pale = pale_curves(s.state, plot);
  PanelLook look = step_look(s.state, plot.id);
  look.hidden = plot.hidden;
  look.pale = pale;
  look.label = [&](const Series& curve) {
    return value_text(curve.y.back(), 3) + (names_fit() ? " " + named(s.record()->plan, curve.label) : "");
  };
  look.above = [&] { draw_marks(s, plot.marks); };
  const PanelMouse mouse = draw_panel(plot.panel, look, {box.max.x - at.x, box.max.y - at.y});
  const bool empty = std::ranges::none_of(
      plot.panel.series, [](const Series& c) { return std::ranges::any_of(c.y, [](double y) { return std::isfinite(y); }); });
  const std::string why = empty ? "Nothing that can be drawn was measured yet." : plot.nothing;
  draw_fitted({(mouse.from.x + mouse.to.x) / 2, (mouse.from.y + mouse.to.y) / 2 - px(8)}, Face::label, colours().faint, why,
              mouse.to.x - mouse.from.x - px(16), 0.5f);
  if (const int step = point_at_step(s, mouse, plot.panel); step >= 0)
    draw_note(box, ImGui::GetIO().MousePos, note_of(s, plot, step));
}

}  // namespace

PanelLook step_look(TrainPanelState& m, const char* id) {
  return {.id = id, .shown = {&m.zoom0, &m.zoom1, 4}, .label_width = px(names_fit() ? 208 : 68)};
}

int point_at_step(const TrainScene& s, const PanelMouse& mouse, const FigurePanel& panel) {
  if (!mouse.over || panel.series.empty() || panel.series[0].x.empty()) return -1;
  const int step =
      static_cast<int>(*std::ranges::min_element(panel.series[0].x, {}, [&](double x) { return std::abs(x - mouse.x); }));
  s.state.pointing = step;
  if (mouse.clicked) s.look().step = s.look().step == step ? -1 : step;
  return step;
}

void draw_picked(const TrainScene& s) {
  if (s.look().step >= 0) draw_vertical(s.look().step, colours().text, 1.2f);
  if (s.state.pointed && *s.state.pointed != s.look().step) draw_vertical(*s.state.pointed, faded(colours().text, 0.4f), 1);
}

bool follow(TrainBranches& b, const std::shared_ptr<const TrainRecord>& now) {
  if (now == b.seen) return false;
  const std::shared_ptr<const TrainRecord> before = std::exchange(b.seen, now);
  if (!before || !now) {
    b.left.clear();
    return true;
  }
  const bool goes_on = now->step >= before->step && now->plan == before->plan && !has_new_fork(*before, *now);
  if (goes_on) return false;
  const int from = b.begins_anew ? -1 : left_after(*before, *now);
  b.begins_anew = false;
  if (from < 0) {
    b.left.clear();
    return true;
  }
  b.left.push_back({before, from, has_new_fork(*before, *now)});
  if (b.left.size() > TrainBranches::most) b.left.erase(b.left.begin());
  return false;
}

void draw_train_deviation(const TrainScene& s, const Box& box) {
  const TrainRecord& r = *s.record();
  TrainDrawing& d = s.state.drawing;
  deviation_title(s, box);
  StepPlot plot{"deviation", d.pairs, &TrainDrawing::pairs, s.look().hidden, s.look().log_y && is_size(s.look().measure)};
  const bool zero = !d.pairs.series.empty() && !d.pairs.series[0].y.empty() &&
                    std::ranges::all_of(d.pairs.series[0].y, [](double y) { return y == 0; });
  if (zero) plot.nothing = named(r.plan, d.pairs.series[0].label) + " is exactly 0 at every step.";
  draw_plot(s, plot, box);
  offer_export({Plot::train_deviation, "deviation", box.min, box.max, [&] { return deviation_csv(r); }}, s.session.view,
               s.requests);
}

void draw_train_runs(const TrainScene& s, const Box& box) {
  const TrainRecord& r = *s.record();
  TrainDrawing& d = s.state.drawing;
  runs_title(s, box);
  draw_plot(s, {"runs", d.runs, &TrainDrawing::runs, s.look().hidden_runs, s.look().log_runs, d.skipped}, box);
  offer_export(
      {Plot::train_runs, "runs", box.min, box.max, [&] { return is_of_heads(s.look().of_runs) ? health_csv(r) : runs_csv(r); }},
      s.session.view, s.requests);
}

}  // namespace attoscope::ui
