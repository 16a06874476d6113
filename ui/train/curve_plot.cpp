// Curves over steps: drawn, read, zoomed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ui/picture/picture_frame.h"
#include "ui/train/panels.h"
#include "ui/train/words.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

/// The limit on the vertices of all curves together, which bounds the time of a frame.
constexpr double most_vertices = 12000;
constexpr std::size_t most_noted = 12, most_named = 7;

/// A line of dashes whose pattern goes on from piece to piece.
void draw_dashed_curve(const Series& p, const CurveStyle& style) {
  ImDrawList* list = ImPlot::GetPlotDrawList();
  const float dash = px(style.dash), period = dash + px(3);
  float way = 0;
  for (std::size_t i = 0; i + 1 < p.x.size(); ++i) {
    if (!std::isfinite(p.y[i]) || !std::isfinite(p.y[i + 1])) continue;
    const ImVec2 from = ImPlot::PlotToPixels(p.x[i], p.y[i]), to = ImPlot::PlotToPixels(p.x[i + 1], p.y[i + 1]);
    const float length = std::hypot(to.x - from.x, to.y - from.y);
    if (!(length > 0) || length > 8000) continue;
    for (float t = 0; t < length;) {
      const float phase = std::fmod(way + t, period), rest = phase < dash ? dash - phase : period - phase,
                  end = std::min(length, t + rest);
      const auto at = [&](float u) {
        return ImVec2{from.x + (to.x - from.x) * u / length, from.y + (to.y - from.y) * u / length};
      };
      if (phase < dash) list->AddLine(at(t), at(end), style.colour, px(style.weight));
      t = end + 0.01f;
    }
    way = std::fmod(way + length, period);
  }
}

void draw_band(const Series& p, const CurveStyle& style, double floor) {
  Points solid;
  for (std::size_t i = 0; i < p.x.size(); ++i)
    if (std::isfinite(p.y[i])) solid.x.push_back(p.x[i]), solid.y.push_back(p.y[i]);
  if (solid.x.size() > 1)
    ImPlot::PlotShaded("##band", solid.x.data(), solid.y.data(), static_cast<int>(solid.x.size()), floor,
                       fill(style.colour, 0.09f));
}

void draw_curve(const Series& p, const CurveStyle& style, double floor) {
  if (p.x.empty()) return;
  const int count = static_cast<int>(p.x.size());
  if (style.mark == CurveMark::band) draw_band(p, style, floor);
  if (!p.low.empty()) ImPlot::PlotShaded("##seeds", p.x.data(), p.low.data(), p.high.data(), count, fill(style.colour, 0.2f));
  if (style.dash > 0) {
    draw_dashed_curve(p, style);
    if (count > 1) return;
  }
  ImPlotSpec spec = stroke(style.colour, style.weight);
  if (p.shape == Shape::line_and_marks) {
    spec = dots(style.colour, 0.8f + style.weight * 0.8f, true);
    spec.LineWeight = px(style.dash > 0 ? 0 : style.weight);
  }
  ImPlot::PlotLine("##curve", p.x.data(), p.y.data(), count, spec);
}

/// Abandoned branches as thin pale curves, from the step at which each was left.
void draw_ghosts(const CurvePlot& plot, const StepAxis& x, double pixels) {
  int id = 0;
  for (const GhostCurve& ghost : plot.ghosts) {
    if (!is_shown(plot.hidden, ghost.of)) continue;
    const Points all = ghost.curve->points(x.from, x.to, pixels);
    Points left;
    for (std::size_t i = 0; i < all.x.size(); ++i) {
      if (all.x[i] < ghost.from) continue;
      left.x.push_back(all.x[i]);
      left.y.push_back(plot.axis.log && !(all.y[i] > 0) ? std::nan("") : all.y[i]);
    }
    ImGui::PushID(id++);
    if (!left.x.empty())
      ImPlot::PlotLine("##ghost", left.x.data(), left.y.data(), static_cast<int>(left.x.size()),
                       stroke(faded(plot.styles[ghost.of].colour, 0.45f), 1.1f));
    ImGui::PopID();
  }
}

/// The order in which curves are drawn: thick ones first, so that none hides another that runs along it.
std::vector<std::size_t> drawing_order(const std::vector<CurveStyle>& styles) {
  std::vector<std::size_t> order(styles.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return styles[i].weight; });
  return order;
}

void vertical(double x, Colour colour, float weight) {
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  const float left = std::floor(ImPlot::PlotToPixels(x, ImPlot::GetPlotLimits().Y.Min).x) + 0.5f;
  if (left >= at.x - 1 && left <= at.x + size.x + 1)
    ImPlot::GetPlotDrawList()->AddLine({left, at.y}, {left, at.y + size.y}, colour, px(weight));
}

void dashed_vertical(double x, Colour colour, const std::string& text) {
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  const float left = std::floor(ImPlot::PlotToPixels(x, ImPlot::GetPlotLimits().Y.Min).x) + 0.5f;
  if (left < at.x || left > at.x + size.x) return;
  ImDrawList* list = ImPlot::GetPlotDrawList();
  draw_dashed(list, {left, at.y}, {left, at.y + size.y}, colour, px(4), px(3));
  const bool fits = left + px(4) + text_width(Face::small, text) < at.x + size.x;
  draw_text(list, {fits ? left + px(4) : left - px(4), at.y + px(1)}, Face::small, colour, text, fits ? 0.0f : 1.0f);
}

/// Vertical lines at forks, stopped runs, the picked step and the step under the mouse.
void draw_marks(const TrainScene& s, const CurvePlot& plot) {
  const TrainRecord& r = *s.record();
  for (const Fork& f : r.forks) dashed_vertical(f.step, s.colours.secondary, "fork");
  for (const TrainBranch& b : s.state.branches.left)
    if (!b.fork) dashed_vertical(b.from, s.colours.faint, "back");
  for (const RunRecord& run : r.runs)
    if (!run.stopped.empty())
      dashed_vertical(run.steps.empty() ? 0 : run.steps.back().step, s.colours.bad, run.run.name + " stopped");
  if (s.look().step >= 0) vertical(s.look().step, s.colours.text, 1.2f);
  if (s.state.pointed && *s.state.pointed != s.look().step) vertical(*s.state.pointed, faded(s.colours.text, 0.4f), 1);
  ImDrawList* list = ImPlot::GetPlotDrawList();
  const float bottom = ImPlot::GetPlotPos().y + ImPlot::GetPlotSize().y, half = px(3);
  for (const double step : plot.marks) {
    const float x = ImPlot::PlotToPixels(step, ImPlot::GetPlotLimits().Y.Min).x;
    list->AddTriangleFilled({x, bottom - px(6)}, {x - half, bottom}, {x + half, bottom}, s.colours.bad);
  }
}

/// The numbers at the ends of the curves, in their colours.
std::vector<EndLabel> end_labels(const CurvePlot& plot, double to) {
  std::vector<EndLabel> labels;
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    const GrowingCurve& c = plot.curves[i];
    const bool can = !c.empty() && std::isfinite(c.last_y()) && (!plot.axis.log || c.last_y() > 0);
    if (can && is_shown(plot.hidden, i) && c.last_x() <= to)
      labels.push_back({ImPlot::PlotToPixels(c.last_x(), c.last_y()).y, value_text(c.last_y(), 3), plot.styles[i].colour});
  }
  return labels;
}

/// The note at a step: all shown curves, the largest number first.
std::vector<NoteLine> note_of(const TrainScene& s, const CurvePlot& plot, int step) {
  struct Read {
    double value;
    std::size_t i;
  };
  std::vector<Read> read;
  for (std::size_t i = 0; i < plot.curves.size(); ++i)
    if (is_shown(plot.hidden, i)) read.push_back({plot.at(i, step), i});
  std::ranges::stable_sort(read, [](const Read& x, const Read& y) {
    return !(x.value < y.value) && (x.value > y.value || (std::isnan(y.value) && !std::isnan(x.value)));
  });
  std::size_t widest = 0;
  for (std::size_t k = 0; k < std::min(read.size(), most_noted); ++k) widest = std::max(widest, plot.names[read[k].i].size());
  std::vector<NoteLine> lines{{s.colours.text, fmt::format("step {}", step)}};
  for (std::size_t k = 0; k < std::min(read.size(), most_noted); ++k) {
    const std::string& name = plot.names[read[k].i];
    std::vector<double> least, greatest;
    plot.curves[read[k].i].band({static_cast<double>(step)}, least, greatest);
    const std::string band = least.empty() ? "" : value_text(least[0], 3) + " to " + value_text(greatest[0], 3);
    lines.push_back({plot.styles[read[k].i].colour, name + std::string(widest - name.size(), ' ') +
                                                        fmt::format("  {:>9}  {}", value_text(read[k].value, 4), band)});
  }
  if (read.size() > most_noted) lines.push_back({s.colours.faint, fmt::format("and {} more", read.size() - most_noted)});
  for (const Fork& f : s.record()->forks)
    if (f.step == step) lines.push_back({s.colours.secondary, "fork: " + f.sentence});
  for (const RunRecord& run : s.record()->runs)
    if (!run.stopped.empty() && !run.steps.empty() && std::abs(run.steps.back().step - step) <= s.record()->plan.measure_every)
      lines.push_back({s.colours.bad, run.stopped.size() > 90 ? run.stopped.substr(0, 90) + "…" : run.stopped});
  return lines;
}

void zoom_steps(TrainPanelState& m, double about, double factor) {
  const StepAxis x = shown_steps(m);
  double from = about - (about - x.from) * factor, to = about + (x.to - about) * factor;
  if (to - from < 4) return;
  from = std::max(0.0, from), to = std::min(m.drawing.last, to);
  const bool all = from <= 0 && to >= m.drawing.last;
  m.zoom0 = all ? 0 : from, m.zoom1 = all ? 0 : to;
}

void pan_steps(TrainPanelState& m, double by) {
  if (m.zoom1 <= m.zoom0) return;
  const double span = m.zoom1 - m.zoom0, from = std::clamp(m.zoom0 - by, 0.0, std::max(0.0, m.drawing.last - span));
  m.zoom0 = from, m.zoom1 = from + span;
}

}  // namespace

StepAxis shown_steps(const TrainPanelState& m) {
  if (m.zoom1 > m.zoom0) return {m.zoom0, m.zoom1};
  return {0, m.drawing.last};
}

int measured_step(const TrainRecord& r, double step) {
  if (r.pairs.empty() || r.pairs[0].points.empty()) return -1;
  const std::vector<PairPoint>& points = r.pairs[0].points;
  const auto beyond =
      std::ranges::lower_bound(points, step, {}, [](const PairPoint& p) { return static_cast<double>(p.step); });
  if (beyond == points.begin()) return beyond->step;
  if (beyond == points.end()) return points.back().step;
  return beyond->step - step < step - (beyond - 1)->step ? beyond->step : (beyond - 1)->step;
}

bool handle_steps(const TrainScene& s, const char* id, const Box& box, bool snaps, const char* what) {
  TrainPanelState& m = s.state;
  ImGui::SetCursorScreenPos(box.min);
  ImGui::SetNextItemAllowOverlap();
  ImGui::InvisibleButton(id, {std::max(1.0f, box.max.x - box.min.x), std::max(1.0f, box.max.y - box.min.y)});
  ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
  const ImGuiIO& io = ImGui::GetIO();
  const StepAxis x = shown_steps(m);
  const double per_pixel = (x.to - x.from) / std::max(1.0f, box.max.x - box.min.x),
               at = x.from + (io.MousePos.x - box.min.x) * per_pixel;
  const int pressed = clicks();
  if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left)) pan_steps(m, io.MouseDelta.x * per_pixel);
  if (!ImGui::IsItemHovered()) {
    explain(what);
    return false;
  }
  const int last = std::max(1, s.record()->step),
            step = snaps ? measured_step(*s.record(), at) : std::clamp(static_cast<int>(std::lround(at)), 1, last);
  if (io.MouseWheel != 0) zoom_steps(m, at, std::pow(0.85, io.MouseWheel));
  if (step < 0) return false;
  m.pointing = step;
  if (pressed == 1) {
    m.step_before = s.look().step;
    s.look().step = s.look().step == step ? -1 : step;
  }
  if (pressed == 2) {
    s.look().step = m.step_before;
    m.zoom0 = m.zoom1 = 0;
  }
  return true;
}

void draw_curve_plot(const TrainScene& s, const CurvePlot& plot, const Box& box) {
  const float numbers = px(68), width = box.max.x - box.min.x - numbers;
  const StepAxis x = shown_steps(s.state);
  ImGui::SetCursorScreenPos(box.min);
  if (!begin_plot({plot.id, x.from, x.to, plot.axis.from, plot.axis.to, plot.axis.log, {}, {}, {}, {}},
                  {width, box.max.y - box.min.y}))
    return;
  const double pixels = std::min(static_cast<double>(width),
                                 most_vertices / (2 * static_cast<double>(std::max<std::size_t>(1, plot.curves.size()))));
  ImPlot::PushPlotClipRect();
  const FigurePanel panel = plot.panel({x.from, x.to, pixels});
  draw_ghosts(plot, x, pixels);
  std::vector<std::size_t> places;  // of the curves among those that are shown
  for (std::size_t i = 0, shown = 0; i < plot.curves.size(); ++i) places.push_back(is_shown(plot.hidden, i) ? shown++ : shown);
  for (const std::size_t i : drawing_order(plot.styles)) {
    if (!is_shown(plot.hidden, i)) continue;
    ImGui::PushID(static_cast<int>(i));
    draw_curve(panel.series[places[i]], plot.styles[i], plot.axis.from);
    ImGui::PopID();
  }
  draw_marks(s, plot);
  ImPlot::PopPlotClipRect();
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  const std::vector<EndLabel> labels = plot.axis.has_any ? end_labels(plot, x.to) : std::vector<EndLabel>{};
  end_plot();
  s.state.plot_left = at.x, s.state.plot_right = at.x + size.x;
  const Box inner{at, {at.x + size.x, at.y + size.y}};
  draw_end_labels(labels, inner.max.x + px(6), numbers - px(6), inner.min.y, inner.max.y);
  if (!plot.axis.has_any || !plot.nothing.empty())
    draw_text({(inner.min.x + inner.max.x) / 2, (inner.min.y + inner.max.y) / 2 - px(8)}, Face::label, s.colours.faint,
              fitted(Face::label, plot.nothing.empty() ? "Nothing that can be drawn was measured yet." : plot.nothing,
                     size.x - px(16)),
              0.5f);
  const std::string area = std::string(plot.id + 2) + " area";
  if (handle_steps(s, area.c_str(), inner, plot.snaps,
                   "Point at a step to read its numbers; a click selects it for the tables, the wheel zooms."))
    draw_note(box, ImGui::GetIO().MousePos, note_of(s, plot, *s.state.pointing), s.colours);
}

namespace {

LegendName legend_name(const CurvePlot& plot, std::size_t i) {
  const CurveStyle& style = plot.styles[i];
  return {style.mark, plot.names[i], plot.names[i], style.colour, plot.names[i] + ".", "", !is_shown(plot.hidden, i),
          style.dash};
}

void list_all(const TrainScene& s, const CurvePlot& plot, ImVec2 at, float width) {
  const std::string popup = std::string("curves of ") + (plot.id + 2);
  ImGui::SetCursorScreenPos(at);
  if (push_button(fmt::format("+ {} …###all curves", plot.curves.size() - most_named).c_str(), s.colours, false,
                  {width, px(16)}))
    ImGui::OpenPopup(popup.c_str());
  explain("All curves, by name.");
  ImGui::SetNextWindowSizeConstraints({px(200), 0}, {px(420), px(460)});
  if (!ImGui::BeginPopup(popup.c_str())) return;
  for (std::size_t i = 0; i < plot.curves.size() && i < 64; ++i) {
    bool shown = is_shown(plot.hidden, i);
    if (toggle(plot.names[i].c_str(), s.colours, shown, px(240))) plot.hidden ^= std::uint64_t{1} << i;
    explain("Shows or hides this curve.");
  }
  ImGui::EndPopup();
}

}  // namespace

void draw_curve_legend(const TrainScene& s, const CurvePlot& plot, ImVec2 at, float width) {
  const bool many = plot.curves.size() > most_named + 1;
  const float more = px(64);
  std::vector<LegendName> names;
  for (std::size_t i = 0; i < (many ? most_named : plot.curves.size()); ++i) names.push_back(legend_name(plot, i));
  const int clicked = draw_legend(at, many ? width - more - px(8) : width, names, s.colours);
  if (clicked >= 0) plot.hidden ^= std::uint64_t{1} << clicked;
  if (!many) return;
  ImGui::PushID(plot.id + 2);
  list_all(s, plot, {at.x + width - more, at.y}, more);
  ImGui::PopID();
}

}  // namespace attoscope
