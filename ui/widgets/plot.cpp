#include "ui/widgets/plot.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

int write_tick(double value, char* buffer, int size, void*) {
  return std::snprintf(buffer, static_cast<std::size_t>(size), "%s", tick_text(value).c_str());
}

void set_ticks(ImAxis axis, std::span<const double> ticks, std::span<const char* const> labels) {
  ImPlot::SetupAxisFormat(axis, write_tick);
  if (!ticks.empty())
    ImPlot::SetupAxisTicks(axis, ticks.data(), static_cast<int>(ticks.size()), labels.empty() ? nullptr : labels.data());
}

/// Flags, limits and scales of both axes.
void set_axes(const PlotFrame& frame) {
  constexpr ImPlotAxisFlags flags = ImPlotAxisFlags_NoLabel | ImPlotAxisFlags_NoTickMarks | ImPlotAxisFlags_NoMenus |
                                    ImPlotAxisFlags_NoSideSwitch | ImPlotAxisFlags_NoHighlight;
  const bool sideways = !frame.categories.empty();
  const ImPlotAxisFlags of_x = flags | ImPlotAxisFlags_NoGridLines,
                        of_categories = flags | ImPlotAxisFlags_Invert | ImPlotAxisFlags_Lock;
  const ImPlotAxisFlags of_y = frame.hides_y ? flags | ImPlotAxisFlags_NoTickLabels | ImPlotAxisFlags_NoGridLines : flags;
  ImPlot::SetupAxes(nullptr, nullptr, sideways ? flags : of_x, sideways ? of_categories : of_y);
  const double far = 1e300;  // ImPlot's arithmetic on limits overflows beyond
  const auto within = [far](double x) { return std::clamp(x, -far, far); };
  const ImAxis x = sideways ? ImAxis_Y1 : ImAxis_X1, y = sideways ? ImAxis_X1 : ImAxis_Y1;
  if (frame.log_y) ImPlot::SetupAxisScale(y, ImPlotScale_Log10);
  if (frame.log_x) ImPlot::SetupAxisScale(x, ImPlotScale_Log10);
  ImPlot::SetupAxisLimits(y, within(frame.y0), within(frame.y1), ImPlotCond_Always);
  if (frame.from == nullptr) return ImPlot::SetupAxisLimits(x, within(frame.x0), within(frame.x1), ImPlotCond_Always);
  ImPlot::SetupAxisLimitsConstraints(x, frame.x0, frame.x1);
  ImPlot::SetupAxisZoomConstraints(x, std::min(frame.least_span, frame.x1 - frame.x0), frame.x1 - frame.x0);
  ImPlot::SetupAxisLinks(x, frame.from, frame.to);
}

/// Names of the categories, thinned out until they do not overlap.
void set_categories(std::span<const std::string> names, float height) {
  const auto every = static_cast<std::size_t>(
      std::max(1.0f, std::ceil(static_cast<float>(names.size()) * (line_height(Face::mono_small) + px(1)) / height)));
  std::vector<double> at;
  std::vector<const char*> shown;
  for (std::size_t i = 0; i < names.size(); i += every) {
    at.push_back(static_cast<double>(i));
    shown.push_back(names[i].c_str());
  }
  ImPlot::SetupAxisTicks(ImAxis_Y1, at.data(), static_cast<int>(at.size()), shown.data());
}

constexpr float usual_dash = 2.5f;

float mark_width(const LegendName& entry) { return px(entry.dash > 0 ? 18 : 9); }

/// Mark of a curve, `width` wide, centred at `c`.
void draw_mark(CurveMark mark, ImVec2 c, float width, float dash, Colour colour) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float half = width / 2, r = px(3);
  switch (mark) {
    case CurveMark::line:
      list->AddLine({c.x - half, c.y}, {c.x + half, c.y}, colour, px(2));
      break;
    case CurveMark::dashes:
      draw_dashed(list, {c.x - half, c.y}, {c.x + half, c.y}, colour, px(dash), px(2));
      break;
    case CurveMark::dot:
      list->AddCircleFilled(c, r, colour);
      break;
    case CurveMark::ring:
      list->AddCircle(c, r, colour, 0, px(1.2f));
      break;
    case CurveMark::diamond:
      list->AddQuad({c.x - r, c.y}, {c.x, c.y - r}, {c.x + r, c.y}, {c.x, c.y + r}, colour, px(1.2f));
      break;
    case CurveMark::band:
      list->AddRectFilled({c.x - half, c.y - r}, {c.x + half, c.y + r}, faded(colour, 0.3f));
      break;
    case CurveMark::bar:
      list->AddRectFilled({c.x - half * 0.6f, c.y - px(4)}, {c.x + half * 0.6f, c.y + px(4)}, colour);
      break;
  }
}

/// Largest width of a name at which all entries fit in a line. Longer names are shortened or left out (only the mark shown).
struct Names {
  float widest;
  bool shortened;
};
Names names_in(std::span<const LegendName> entries, float room) {
  std::vector<float> widths;
  for (const LegendName& entry : entries) widths.push_back(text_width(Face::small, entry.name));
  std::ranges::sort(widths);
  float widest = 0, left = static_cast<float>(widths.size());
  for (const float width : widths) {
    if (width > room / left && room / left >= px(20)) return {room / left, true};
    if (width > room) break;
    widest = width;
    room -= width;
    --left;
  }
  return {widest, false};
}

constexpr float legend_line = 16;

using LegendLine = std::span<const LegendName>;

/// Breaks the names into at most `most` lines, each with as many whole names as fit; the last line has the rest.
std::vector<LegendLine> legend_lines(float width, LegendLine entries, int most) {
  std::vector<LegendLine> lines;
  while (static_cast<int>(lines.size()) + 1 < most) {
    std::size_t count = 0;
    for (float used = 0; count < entries.size(); ++count) {
      used += mark_width(entries[count]) + px(4) + text_width(Face::small, entries[count].name) + (count > 0 ? px(10) : 0);
      if (used > width && count > 0) break;
    }
    if (count == entries.size()) break;
    lines.push_back(entries.first(count));
    entries = entries.subspan(count);
  }
  lines.push_back(entries);
  return lines;
}

/// Draws a line of names; returns the index of the clicked one, or -1.
int draw_legend_line(ImVec2 at, float width, LegendLine entries) {
  int clicked = -1;
  const float gap = px(4), height = px(legend_line);
  const auto count = static_cast<float>(entries.size());
  float marks = 0;  // with the gaps after them
  for (const LegendName& entry : entries) marks += mark_width(entry) + gap;
  const float apart = std::clamp((width - marks) / std::max(1.0f, count - 1), px(2), px(10)),
              margin = std::min(px(3), apart / 2);
  const Names names = names_in(entries, width - marks - (count - 1) * apart);
  for (const LegendName& entry : entries) {
    const float mark = mark_width(entry);
    const bool named = names.shortened || text_width(Face::small, entry.name) <= names.widest;
    const std::string shown = named ? fitted(Face::small, entry.name, names.widest + 0.5f) : "";
    const float length = mark + gap + text_width(Face::small, shown);
    ImGui::SetCursorScreenPos({at.x - margin, at.y});
    if (ImGui::InvisibleButton(("legend " + entry.id).c_str(), {length + 2 * margin, height}, ImGuiButtonFlags_EnableNav))
      clicked = static_cast<int>(&entry - entries.data());
    const bool hot = ImGui::IsItemHovered();
    if (hot)
      ImGui::GetWindowDrawList()->AddRectFilled(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(), colours().raised, px(3));
    if (!entry.what.empty()) explain(entry.what + (entry.hidden ? " Click: show it." : " Click: hide it."), entry.formula);
    const float y = at.y + height / 2;
    draw_mark(entry.mark, {at.x + mark / 2, y}, mark, entry.dash > 0 ? entry.dash : usual_dash,
              entry.hidden ? faded(entry.colour, 0.35f) : entry.colour);
    draw_text({at.x + mark + gap, y - line_height(Face::small) / 2 - px(1)}, Face::small,
              entry.hidden ? faded(colours().faint, hot ? 1 : 0.7f) : colours().secondary, shown);
    if (entry.hidden)
      ImGui::GetWindowDrawList()->AddLine({at.x + mark + gap, y}, {at.x + length, y}, faded(colours().faint, 0.8f), px(1));
    at.x += length + apart;
  }
  return clicked;
}

}  // namespace

float height_of_legend(float width, std::span<const LegendName> entries, int most) {
  return px(legend_line) * static_cast<float>(legend_lines(width, entries, most).size());
}

bool begin_plot(const PlotFrame& frame, ImVec2 size) {
  ImGui::PushFont(fonts().mono, line_height(Face::mono_small) / px(1));
  ImPlot::PushStyleVar(ImPlotStyleVar_LabelPadding, ImVec2{px(5), px(4)});
  const ImPlotFlags inputs = frame.mouse ? ImPlotFlags_None : ImPlotFlags_NoInputs;
  if (!ImPlot::BeginPlot(frame.id, size, ImPlotFlags_CanvasOnly | ImPlotFlags_NoFrame | inputs)) {
    ImPlot::PopStyleVar();
    ImGui::PopFont();
    return false;
  }
  set_axes(frame);
  const double across = std::max(2.0, static_cast<double>(size.x / px(56))),
               up = std::clamp(static_cast<double>(size.y / px(34)), 2.0, 12.0);
  if (!frame.categories.empty()) {
    set_categories(frame.categories, size.y);
    set_ticks(ImAxis_X1, axis_ticks(frame.y0, frame.y1, frame.log_y, across), {});
  } else {
    std::vector<double> x, y;
    if (frame.log_x && frame.x_ticks.empty()) x = axis_ticks(frame.x0, frame.x1, true, across);
    set_ticks(ImAxis_X1, x.empty() ? frame.x_ticks : x, frame.x_labels);
    if (frame.y_ticks.empty()) y = axis_ticks(frame.y0, frame.y1, frame.log_y, up);
    set_ticks(ImAxis_Y1, y.empty() ? frame.y_ticks : y, frame.y_labels);
  }
  ImPlot::SetupFinish();
  return true;
}

void end_plot() {
  ImPlot::EndPlot();
  ImPlot::PopStyleVar();
  ImGui::PopFont();
}

ImPlotSpec stroke(Colour colour, float weight) {
  ImPlotSpec spec;
  spec.LineColor = vec(colour);
  spec.LineWeight = px(weight);
  return spec;
}

ImPlotSpec fill(Colour colour, float alpha) {
  ImPlotSpec spec;
  spec.FillColor = vec(faded(colour, alpha));
  spec.LineColor = vec(faded(colour, 0));
  spec.LineWeight = 0;
  return spec;
}

ImPlotSpec dots(Colour colour, float radius, bool filled) {
  ImPlotSpec spec;
  spec.Marker = ImPlotMarker_Circle;
  spec.MarkerSize = px(radius);
  spec.LineColor = spec.MarkerLineColor = vec(colour);
  spec.LineWeight = px(1.2f);
  spec.MarkerFillColor = vec(faded(colour, filled ? 1.0f : 0.0f));
  return spec;
}

Series decimated(const Series& s, double x0, double x1, double pixels) {
  Series d = s;
  const auto begin = s.x.begin();
  auto first = std::ranges::lower_bound(s.x, x0) - begin, end = std::ranges::upper_bound(s.x, x1) - begin;
  first = std::max<std::ptrdiff_t>(0, first - 1);
  end = std::min(std::ssize(s.x), end + 1);
  const auto count = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, end - first)),
             buckets = static_cast<std::size_t>(std::max(1.0, pixels));
  for (std::vector<double>* const values : {&d.x, &d.y, &d.low, &d.high}) {
    if (values->empty()) continue;
    if (count <= 2 * buckets)
      *values = std::vector(values->begin() + first, values->begin() + first + static_cast<std::ptrdiff_t>(count));
    else
      values->clear();
  }
  if (count <= 2 * buckets) return d;
  for (std::size_t b = 0; b < buckets; ++b) {
    const auto from = static_cast<std::size_t>(first) + b * count / buckets,
               to = static_cast<std::size_t>(first) + (b + 1) * count / buckets;
    std::size_t low = from, high = from;
    NumberSpan band;
    for (std::size_t i = from; i < to; ++i) {
      if (s.y[i] < s.y[low] || std::isnan(s.y[low])) low = i;
      if (s.y[i] > s.y[high] || std::isnan(s.y[high])) high = i;
      if (!s.low.empty()) {
        band.take(s.low[i]);
        band.take(s.high[i]);
      }
    }
    for (const std::size_t i : {std::min(low, high), std::max(low, high)}) {
      d.x.push_back(s.x[i]);
      d.y.push_back(s.y[i]);
      if (!s.low.empty()) {
        d.low.push_back(band.low);
        d.high.push_back(band.high);
      }
      if (low == high) break;
    }
  }
  return d;
}

void draw_steps(const char* id, const Series& series, const ImPlotSpec& spec, double width) {
  const ImPlotRect limits = ImPlot::GetPlotLimits();
  Series p = decimated(series, limits.X.Min, limits.X.Max, ImPlot::GetPlotSize().x);
  if (p.x.empty()) return;
  for (double& t : p.x) t -= width / 2;
  p.x.push_back(p.x.back() + width);
  p.y.push_back(p.y.back());
  ImPlot::PlotStairs(id, p.x.data(), p.y.data(), static_cast<int>(p.x.size()), spec);
}

void draw_clamped_steps(const char* id, Series series, double low, double high, const ImPlotSpec& spec, double width) {
  for (double& v : series.y) v = std::isfinite(v) ? std::clamp(v, low, high) : high;
  draw_steps(id, series, spec, width);
}

int draw_legend(ImVec2 at, float width, std::span<const LegendName> entries, int most) {
  int clicked = -1;
  for (const LegendLine line : legend_lines(width, entries, most)) {
    if (const int in_line = draw_legend_line(at, width, line); in_line >= 0)
      clicked = static_cast<int>(line.data() - entries.data()) + in_line;
    at.y += px(legend_line);
  }
  return clicked;
}

}  // namespace attoscope::ui
