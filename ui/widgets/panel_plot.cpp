#include "ui/widgets/panel_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "ui/widgets/plot.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {
namespace {

/// Limit on the points of all curves together; bounds the time of a frame.
constexpr double most_points = 12000;
/// Curves with more points have no marks, and a band instead of error bars.
constexpr std::size_t most_marks = 60;
/// If there are more curves, they are drawn without their spread.
constexpr std::size_t most_spreads = 16;

/// Marks that are distinguishable without colours, in the order of the inks.
struct InkMark {
  ImPlotMarker shape;
  bool filled;
};
constexpr EnumArray<Ink, InkMark> marks{{{ImPlotMarker_Circle, true},
                                         {ImPlotMarker_Square, true},
                                         {ImPlotMarker_Circle, false},
                                         {ImPlotMarker_Circle, true},
                                         {ImPlotMarker_Up, true},
                                         {ImPlotMarker_Diamond, true},
                                         {ImPlotMarker_Diamond, true},
                                         {ImPlotMarker_Square, false},
                                         {ImPlotMarker_Up, false},
                                         {ImPlotMarker_Down, true},
                                         {ImPlotMarker_Left, true},
                                         {ImPlotMarker_Right, false},
                                         {ImPlotMarker_Diamond, false}}};

ImPlotSpec mark_spec(const Series& s, Colour colour, float radius) {
  constexpr int shapes = ImPlotMarker_Asterisk + 1, shapes_on = 3;  // without the two that look like error bars
  const InkMark& mark = marks[s.ink];
  ImPlotSpec spec = dots(colour, radius, mark.filled);
  spec.Marker = (mark.shape + s.round * shapes_on) % shapes;
  return spec;
}

/// b is wide: it stays visible under a curve that overlaps it.
float weight_of(const Series& s) { return s.ink == Ink::b && !s.dashed ? 3.2f : s.ink == Ink::golden ? 1.3f : 1.8f; }

bool is_line(const Series& s) { return s.shape == Shape::line || s.shape == Shape::line_and_marks; }

/// A decimated curve of a panel, with its colour and index.
struct DrawnCurve {
  Series series;
  Colour colour;
  std::size_t place;
};

/// Drawing order: bands and bars behind, marks in front; among lines b first, then from the panel's last line to its first.
auto rank_of(const DrawnCurve& c) {
  constexpr EnumArray<Shape, int> layers{3, 4, 3, 2, 1, 0, 4};  // layer of each shape
  const int layer = layers[c.series.shape], place = static_cast<int>(c.place);
  return std::tuple(layer, c.series.ink != Ink::b, layer == 3 ? -place : place);
}

/// A dashed line whose pattern continues from segment to segment.
void draw_dashes(const Series& s, Colour colour, float weight) {
  ImDrawList* list = ImPlot::GetPlotDrawList();
  const float dash = px(5), period = px(9);
  float way = 0;
  for (std::size_t i = 0; i + 1 < s.x.size(); ++i) {
    if (!std::isfinite(s.y[i]) || !std::isfinite(s.y[i + 1])) continue;
    const ImVec2 from = ImPlot::PlotToPixels(s.x[i], s.y[i]), to = ImPlot::PlotToPixels(s.x[i + 1], s.y[i + 1]);
    const float length = std::hypot(to.x - from.x, to.y - from.y);
    if (!(length > 0) || length > 8000) continue;
    const auto at = [&](float t) {
      return ImVec2{from.x + (to.x - from.x) * t / length, from.y + (to.y - from.y) * t / length};
    };
    for (float t = -std::fmod(way, period); t < length; t += period)
      if (t + dash > 0) list->AddLine(at(std::max(t, 0.0f)), at(std::min(t + dash, length)), colour, px(weight));
    way = std::fmod(way + length, period);
  }
}

/// The spread of a curve: error bars of few points, else a band.
void draw_spread(const Series& s, Colour colour, bool sideways) {
  const int count = static_cast<int>(s.x.size());
  if (is_line(s) && s.x.size() > most_marks) {
    ImPlot::PlotShaded("##spread", s.x.data(), s.low.data(), s.high.data(), count, fill(colour, 0.18f));
    return;
  }
  std::vector<double> below, above;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    below.push_back(s.y[i] - s.low[i]);
    above.push_back(s.high[i] - s.y[i]);
  }
  ImPlotSpec bars = stroke(faded(colour, 0.7f), 1.2f);
  bars.Size = px(4);
  if (sideways) bars.Flags = ImPlotErrorBarsFlags_Horizontal;
  const std::vector<double>&x = sideways ? s.y : s.x, &y = sideways ? s.x : s.y;
  ImPlot::PlotErrorBars("##spread", x.data(), y.data(), below.data(), above.data(), count, bars);
}

void draw_line(const Series& s, Colour colour, double spacing) {
  const bool marked = s.shape == Shape::line_and_marks && s.x.size() <= most_marks && (spacing >= 6 || s.x.size() == 1);
  ImPlotSpec spec = marked ? mark_spec(s, colour, 2.8f) : stroke(colour, weight_of(s));
  spec.LineWeight = px(s.dashed && s.x.size() > 1 ? 0 : weight_of(s));
  if (s.dashed) draw_dashes(s, colour, weight_of(s));
  if (!s.dashed || marked) ImPlot::PlotLine("##line", s.x.data(), s.y.data(), static_cast<int>(s.x.size()), spec);
}

/// Steps; on a logarithmic axis values outside the limits and non-finite values are drawn at the edge.
void draw_levels(const Series& s, Colour colour, bool log) {
  const ImPlotRect limits = ImPlot::GetPlotLimits();
  if (log)
    draw_clamped_steps("##steps", s, limits.Y.Min, limits.Y.Max, stroke(colour));
  else
    draw_steps("##steps", s, stroke(colour, s.ink == Ink::golden || s.ink == Ink::text ? 1.1f : 1.6f));
}

void draw_curve(const DrawnCurve& c, bool log, bool sideways) {
  const Series& s = c.series;
  const int count = static_cast<int>(s.x.size());
  if (count == 0) return;
  const ImPlotRect limits = ImPlot::GetPlotLimits();
  const double pixels = ImPlot::GetPlotSize().x, spacing = s.x.size() < 2 ? pixels : pixels / static_cast<double>(count);
  if (!s.low.empty() && s.shape != Shape::band) draw_spread(s, c.colour, sideways);
  switch (s.shape) {
    case Shape::band:
      return ImPlot::PlotShaded("##band", s.x.data(), s.low.data(), s.high.data(), count, fill(c.colour, 0.13f));
    case Shape::bars:
      if (pixels / limits.X.Size() < 3) return draw_levels(s, c.colour, log);
      return ImPlot::PlotBars("##bars", s.x.data(), s.y.data(), count, 0.7, fill(c.colour));
    case Shape::steps:
      return draw_levels(s, c.colour, log);
    case Shape::marks:
    case Shape::dots: {
      const ImPlotSpec spec = mark_spec(s, c.colour, sideways ? 4 : spacing >= 5 ? 3.2f : 1.8f);
      return ImPlot::PlotScatter("##marks", (sideways ? s.y : s.x).data(), (sideways ? s.x : s.y).data(), count, spec);
    }
    case Shape::line:
    case Shape::line_and_marks:
      return draw_line(s, c.colour, spacing);
  }
}

/// The curves that are not hidden, decimated to the visible part of the axis.
std::vector<DrawnCurve> curves_of(const FigurePanel& p, const PanelLook& look, const NumberSpan& x, double pixels) {
  std::vector<DrawnCurve> curves;
  const std::size_t count = p.series.size() + look.pale.size();
  const double each = std::min(pixels, most_points / (2 * static_cast<double>(std::max<std::size_t>(1, count))));
  const auto add = [&](const Series& s, Colour colour) {
    DrawnCurve& c = curves.emplace_back(DrawnCurve{decimated(s, x.low, x.high, each), colour, curves.size()});
    for (double& at : c.series.x) at += category_shift(p, curves.size() - 1);
    if (count > most_spreads && is_line(s)) {
      c.series.low.clear();
      c.series.high.clear();
    }
    if (p.y.log && s.shape != Shape::steps)
      for (std::vector<double>* const values : {&c.series.y, &c.series.low, &c.series.high})
        for (double& v : *values)
          if (!(v > 0)) v = std::numeric_limits<double>::quiet_NaN();
  };
  for (const Series& s : look.pale) add(s, faded(ink_colour(s.ink), 0.4f));
  for (std::size_t i = 0; i < p.series.size(); ++i)
    if (is_shown(look.hidden, i)) add(p.series[i], ink_colour(p.series[i].ink));
  std::ranges::stable_sort(curves, {}, rank_of);
  return curves;
}

/// Ticks of the x axis and their names, without overlaps.
struct NamedTicks {
  std::vector<double> at;
  std::vector<const char*> names;
};
/// Total width of the names of ticks, with gaps.
float names_width(const std::vector<double>& at) {
  float sum = 0;
  for (const double t : at) sum += text_width(Face::mono_small, tick_text(t)) + px(8);
  return sum;
}
NamedTicks x_ticks(const FigureAxis& axis, const PanelLook& look, const NumberSpan& x, float width) {
  NamedTicks ticks;
  if (look.ticks.empty()) {
    const auto longest = static_cast<float>(std::to_string(static_cast<long long>(std::min(std::abs(x.high), 1e15))).size());
    float most = width / (px(18) + px(7) * (axis.log ? 5 : longest));
    do ticks.at = axis_ticks(x.low, x.high, axis.log, std::max(1.0f, most));
    while (most > 1 && names_width(ticks.at) > width && (most *= 0.8f) > 0);
    if (axis.whole) std::erase_if(ticks.at, [](double t) { return t != std::floor(t) || t < 0; });
    return ticks;
  }
  std::vector<std::size_t> order(look.ticks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return look.ticks[i]; });
  float free = -1e30f;
  for (const std::size_t i : order) {
    const double t = look.ticks[i],
                 share = axis.log ? std::log(t / x.low) / std::log(x.high / x.low) : (t - x.low) / (x.high - x.low);
    const float half = text_width(Face::mono_small, look.names[i]) / 2 + px(4), at = static_cast<float>(share) * width;
    if (share < 0 || share > 1 || at - half < free) continue;
    free = at + half;
    ticks.at.push_back(t);
    ticks.names.push_back(look.names[i].c_str());
  }
  return ticks;
}

/// Label at the end of a curve.
struct EndLabel {
  float y;
  std::string name;
  Colour colour;
};
std::vector<EndLabel> end_labels(const FigurePanel& p, const PanelLook& look) {
  std::vector<EndLabel> labels;
  const ImPlotRect limits = ImPlot::GetPlotLimits();
  for (std::size_t i = 0; i < p.series.size(); ++i) {
    const Series& s = p.series[i];
    if (!is_shown(look.hidden, i) || !is_line(s) || s.x.empty() || s.x.back() > limits.X.Max) continue;
    const double y = s.y.back();
    if (std::isfinite(y) && (!p.y.log || y > 0))
      labels.push_back({ImPlot::PlotToPixels(s.x.back(), y).y, look.label(s), ink_colour(s.ink)});
  }
  return labels;
}

/// Draws labels right of a plot, at their curves' ends, moved apart if they overlap; too many are thinned out evenly, keeping
/// the first and the last.
void draw_end_labels(std::vector<EndLabel> labels, float x, float width, float top, float bottom) {
  std::ranges::stable_sort(labels, {}, &EndLabel::y);
  const float line = px(15);
  const auto room = static_cast<std::size_t>(std::max(1.0f, (bottom - top) / line));
  if (labels.size() > room) {
    std::vector<EndLabel> fewer;
    for (std::size_t i = 0; i < room; ++i) fewer.push_back(labels[room > 1 ? i * (labels.size() - 1) / (room - 1) : 0]);
    labels = std::move(fewer);
  }
  float free = top;
  for (EndLabel& l : labels) free = (l.y = std::max(l.y - line / 2, free)) + line;
  float limit = bottom;
  for (auto l = labels.rbegin(); l != labels.rend(); ++l) limit = (l->y = std::min(l->y, limit - line));
  for (const EndLabel& l : labels) draw_fitted({x, l.y}, Face::mono_small, l.colour, l.name, width);
}

/// The mouse in the current plot.
PanelMouse mouse_of() {
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize(), drag = ImGui::GetIO().MouseDragMaxDistanceAbs[0];
  const ImPlotPoint place = ImPlot::GetPlotMousePos();
  const bool over = ImPlot::IsPlotHovered();
  return {.over = over,
          .clicked = over && ImGui::IsMouseReleased(ImGuiMouseButton_Left) && std::hypot(drag.x, drag.y) < px(4) &&
                     ImGui::GetIO().MouseClickedLastCount[ImGuiMouseButton_Left] == 1,
          .x = place.x,
          .y = place.y,
          .from = at,
          .to = {at.x + size.x, at.y + size.y}};
}

/// Stores the part of the axis that the mouse chose; 0 to 0: the whole axis.
void take_range(const PanelRange& range, const NumberSpan& all, const NumberSpan& before, NumberSpan now) {
  const double near = 1e-9 * (all.high - all.low);
  if (ImPlot::IsPlotHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) now = all;
  if (now.low == before.low && now.high == before.high) return;
  const bool whole = now.low <= all.low + near && now.high >= all.high - near;
  *range.from = whole ? 0 : now.low;
  *range.to = whole ? 0 : now.high;
}

/// The visible part of the axis.
NumberSpan shown_part(const PanelRange& range, const NumberSpan& all) {
  if (range.from == nullptr || !(*range.from < *range.to)) return all;
  const NumberSpan part{std::max(all.low, *range.from), std::min(all.high, *range.to)};
  return part.high - part.low < range.least || !(part.low < part.high) ? all : part;
}

}  // namespace

Colour ink_colour(Ink ink) {
  const Palette& c = colours();
  constexpr std::array named{&Palette::a, &Palette::b, &Palette::golden, &Palette::moved, &Palette::bad, &Palette::good};
  if (ink == Ink::text) return c.text;
  return ink < Ink::one ? c.*named[static_cast<std::size_t>(ink)]
                        : c.others[static_cast<std::size_t>(ink) - static_cast<std::size_t>(Ink::one)];
}

double category_shift(const FigurePanel& panel, std::size_t i) {
  const auto count = static_cast<double>(panel.series.size());
  return panel.x.categories.empty() ? 0 : (static_cast<double>(i) - (count - 1) / 2) * std::min(0.12, 0.7 / count);
}

LegendName legend_name(const Series& s, bool hidden) {
  const CurveMark mark = s.dashed                  ? CurveMark::dashes
                         : s.shape == Shape::marks ? CurveMark::dot
                         : s.shape == Shape::band  ? CurveMark::band
                         : s.shape == Shape::bars  ? CurveMark::bar
                                                   : CurveMark::line;
  return {mark, s.label, s.label, ink_colour(s.ink), s.label + ".", "", hidden, s.dashed ? 5.0f : 0.0f};
}

void draw_vertical(double x, Colour colour, float weight, const std::string& text) {
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  const float left = std::floor(ImPlot::PlotToPixels(x, ImPlot::GetPlotLimits().Y.Min).x) + 0.5f;
  if (left < at.x - 1 || left > at.x + size.x + 1) return;
  ImDrawList* list = ImPlot::GetPlotDrawList();
  if (text.empty()) return list->AddLine({left, at.y}, {left, at.y + size.y}, colour, px(weight));
  draw_dashed(list, {left, at.y}, {left, at.y + size.y}, colour, px(4), px(3));
  const bool fits = left + px(4) + text_width(Face::small, text) < at.x + size.x;
  draw_text(list, {fits ? left + px(4) : left - px(4), at.y + px(1)}, Face::small, colour, text, fits ? 0.0f : 1.0f);
}

void shade_range(double from, double to, Colour colour) {
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  const double low = ImPlot::GetPlotLimits().Y.Min;
  const float left = ImPlot::PlotToPixels(from, low).x, right = std::max(ImPlot::PlotToPixels(to, low).x, left + px(2));
  ImPlot::GetPlotDrawList()->AddRectFilled({left, at.y}, {right, at.y + size.y}, colour);
}

PanelMouse draw_panel(const FigurePanel& p, const PanelLook& look, ImVec2 size) {
  const bool sideways = !p.x.categories.empty(), zooms = look.shown.from != nullptr;
  const NumberSpan all = sideways ? NumberSpan{-0.5, static_cast<double>(p.x.categories.size()) - 0.5} : x_range(p);
  const NumberSpan before = shown_part(look.shown, all);
  NumberSpan now = before;
  const ImVec2 room{size.x - look.label_width, size.y};
  const std::vector<DrawnCurve> curves = curves_of(p, look, before, room.x);
  std::vector<const Series*> drawn;
  for (const DrawnCurve& c : curves) drawn.push_back(&c.series);
  const NumberSpan y = y_range(p.y, drawn);
  const NamedTicks ticks = x_ticks(p.x, look, before, room.x - px(48));
  PlotFrame frame{.id = look.id, .x0 = all.low, .x1 = all.high, .y0 = y.low, .y1 = y.high, .log_y = p.y.log};
  frame.x_ticks = ticks.at;
  frame.x_labels = ticks.names;
  frame.log_x = p.x.log;
  frame.mouse = true;
  if (zooms) {
    frame.from = &now.low;
    frame.to = &now.high;
    frame.least_span = look.shown.least;
  }
  frame.categories = p.x.categories;
  frame.hides_y = look.hides_y;
  if (!begin_plot(frame, room)) return {};
  ImPlot::PushPlotClipRect();
  if (look.behind) look.behind();
  for (const DrawnCurve& c : curves) {
    const WithId id(static_cast<int>(c.place));
    draw_curve(c, p.y.log, sideways);
  }
  if (look.above) look.above();
  ImPlot::PopPlotClipRect();
  const std::vector<EndLabel> labels = look.label ? end_labels(p, look) : std::vector<EndLabel>{};
  const PanelMouse mouse = mouse_of();
  const ImPlotRect limits = ImPlot::GetPlotLimits();
  if (zooms) take_range(look.shown, all, before, {limits.X.Min, limits.X.Max});
  end_plot();
  draw_end_labels(labels, mouse.to.x + px(6), look.label_width - px(6), mouse.from.y, mouse.to.y);
  return mouse;
}

}  // namespace attoscope::ui
