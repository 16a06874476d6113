// Means over a numeric parameter: a line for each value of the second.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ui/sweep/panels.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

/// Points of a line above which a band replaces error bars and marks.
constexpr std::size_t most_bars = 60;
/// Limit of the vertices of all lines, which bounds the cost of a frame.
constexpr double most_vertices = 12000;

/// Ticks at the parameter's own values if they fit, else round ones.
SweepTicks x_ticks(const SweepDrawing& d, float width) {
  const SweepValues& axis = d.table->axes[0];
  const auto place = [&](double x) {
    const auto t = d.x.log ? std::log(x / d.x.from) / std::log(d.x.to / d.x.from) : (x - d.x.from) / (d.x.to - d.x.from);
    return static_cast<float>(t) * width;
  };
  SweepTicks ticks;
  float free = -1e30f;
  std::vector<std::size_t> order(axis.numbers.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return axis.numbers[i]; });
  for (const std::size_t i : order) {
    if (place(axis.numbers[i]) < free) continue;
    const float half = text_width(Face::mono_small, axis.names[i]) / 2 + px(4);
    if (place(axis.numbers[i]) - half < free) continue;
    free = place(axis.numbers[i]) + half;
    ticks.add(axis.numbers[i], axis.names[i]);
  }
  return ticks;
}

/// Band of a line's spread, at most one point a pixel: the smallest and the largest of neighbours.
struct Band {
  std::vector<double> x, low, high;
};
Band band_of(const Series& line, double pixels) {
  const auto step = static_cast<std::size_t>(std::max(1.0, std::ceil(static_cast<double>(line.x.size()) / pixels)));
  Band band;
  for (std::size_t i = 0; i < line.x.size(); i += step) {
    const auto from = static_cast<std::ptrdiff_t>(i), to = static_cast<std::ptrdiff_t>(std::min(line.x.size(), i + step));
    band.x.push_back(line.x[i]);
    band.low.push_back(*std::min_element(line.low.begin() + from, line.low.begin() + to));
    band.high.push_back(*std::max_element(line.high.begin() + from, line.high.begin() + to));
  }
  return band;
}

void draw_line(const Series& line, Colour colour, double pixels, bool with_spread, float weight) {
  const int count = static_cast<int>(line.x.size());
  if (count == 0) return;
  const double x0 = line.x.front(), x1 = line.x.back();
  const bool many = line.x.size() > most_bars;
  if (with_spread && many) {
    const Band band = band_of(line, pixels);
    ImPlot::PlotShaded("##band", band.x.data(), band.low.data(), band.high.data(), static_cast<int>(band.x.size()),
                       fill(colour, 0.18f));
  } else if (with_spread) {
    std::vector<double> below, above;
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      below.push_back(line.y[i] - line.low[i]);
      above.push_back(line.high[i] - line.y[i]);
    }
    ImPlotSpec bars = stroke(faded(colour, 0.7f), 1.2f);
    bars.Size = px(4);
    ImPlot::PlotErrorBars("##bars", line.x.data(), line.y.data(), below.data(), above.data(), count, bars);
  }
  const Points p = decimated(line.x, line.y, x0, x1, pixels);
  ImPlotSpec spec = stroke(colour, weight);
  if (!many) {
    spec = dots(colour, weight > 1.3f ? 3.0f : 2.2f, true);
    spec.LineWeight = px(weight);
  }
  ImPlot::PlotLine("##line", p.x.data(), p.y.data(), static_cast<int>(p.x.size()), spec);
}

/// The combination whose mean is nearest to the mouse, within 24 px.
std::optional<SweepPlace> nearest(const SweepDrawing& d) {
  const ImPlotPoint mouse = ImPlot::GetPlotMousePos();
  const ImVec2 at = ImGui::GetIO().MousePos;
  std::optional<SweepPlace> best;
  float reach = px(24);
  for (const SweepLine& line : d.lines) {
    const auto beyond = std::ranges::lower_bound(line.curve.x, mouse.x) - line.curve.x.begin();
    const auto count = static_cast<std::ptrdiff_t>(line.curve.x.size());
    for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(0, beyond - 4); i < std::min(count, beyond + 4); ++i) {
      const auto k = static_cast<std::size_t>(i);
      const ImVec2 p = ImPlot::PlotToPixels(line.curve.x[k], line.curve.y[k]);
      const float distance = std::hypot(p.x - at.x, p.y - at.y);
      if (distance < reach) reach = distance, best = SweepPlace{line.first[k], line.second};
    }
  }
  return best;
}

/// A ring around the combination under the mouse, here or in the table.
void draw_pointed(const SweepScene& s) {
  if (!s.state.pointed) return;
  for (const SweepLine& line : s.state.drawing.lines) {
    const auto at = std::ranges::find(line.first, (*s.state.pointed)[0]);
    if (line.second != (*s.state.pointed)[1] || at == line.first.end()) continue;
    const auto i = static_cast<std::size_t>(at - line.first.begin());
    ImPlot::GetPlotDrawList()->AddCircle(ImPlot::PlotToPixels(line.curve.x[i], line.curve.y[i]), px(6), s.colours.text, 0,
                                         px(1.5f));
  }
}

/// Line at a ratio of 1, where a and b have equal errors.
void draw_equal(const SweepDrawing& d, const Palette& colours) {
  if (d.table->of != "ratio" || d.y.from > 1 || d.y.to < 1) return;
  const ImVec2 from = ImPlot::PlotToPixels(d.x.from, 1.0), to = ImPlot::PlotToPixels(d.x.to, 1.0);
  draw_dashed(ImPlot::GetPlotDrawList(), from, to, colours.secondary, px(5), px(4));
  draw_text(ImPlot::GetPlotDrawList(), {from.x + px(6), from.y - px(16)}, Face::small, colours.faint, "a = b");
}

std::vector<EndLabel> end_labels(const SweepScene& s) {
  const SweepDrawing& d = s.state.drawing;
  std::vector<EndLabel> labels;
  const auto add = [&](const SweepLine& line, const std::string& name, Colour colour) {
    const Series& c = line.curve;
    if (!c.x.empty()) labels.push_back({ImPlot::PlotToPixels(c.x.back(), c.y.back()).y, name, colour});
  };
  if (d.table->axes.size() > 1) {
    for (const SweepLine& line : d.lines) add(line, line.curve.label, line_colour(*d.table, line.second, s.session.view.theme));
  } else if (d.rival) {
    add(d.lines.front(), "a", s.colours.a);
    add(*d.rival, "b", s.colours.b);
  }
  return labels;
}

/// Width of the names at the ends of the lines.
float label_room(const SweepDrawing& d, float width) {
  if (d.table->axes.size() < 2) return d.rival ? px(20) : px(8);
  return std::min(text_width(Face::mono_small, d.longest[1]) + px(12), width / 4);
}

}  // namespace

void draw_sweep_lines(const SweepScene& s, const Box& box) {
  const SweepDrawing& d = s.state.drawing;
  const float names = label_room(d, box.max.x - box.min.x), below = px(20);
  const ImVec2 size{box.max.x - box.min.x - names, box.max.y - box.min.y - below};
  const SweepTicks x = x_ticks(d, size.x - px(60)), y = value_ticks(d.y, std::max(2.0f, size.y / px(40)));
  const std::vector<const char*> x_texts = x.labels(), y_texts = y.labels();
  ImGui::SetCursorScreenPos(box.min);
  const PlotFrame frame{"##sweep", d.x.from, d.x.to, d.y.from, d.y.to, d.y.log, x.at, y.at, x_texts, y_texts, d.x.log};
  if (!begin_plot(frame, size)) return;
  const double pixels = std::min(static_cast<double>(size.x), most_vertices / (2 * static_cast<double>(d.lines.size())));
  const bool with_spread = d.table->seeds > 1 && d.lines.size() <= 16;
  draw_equal(d, s.colours);
  if (d.rival) draw_line(d.rival->curve, s.colours.b, pixels, false, 1.2f);
  for (const SweepLine& line : d.lines) {
    ImPlot::PushPlotClipRect();
    ImGui::PushID(line.second);
    draw_line(line.curve, line_colour(*d.table, line.second, s.session.view.theme), pixels, with_spread, 1.8f);
    ImGui::PopID();
    ImPlot::PopPlotClipRect();
  }
  draw_pointed(s);
  const std::optional<SweepPlace> under = nearest(d);
  const ImVec2 plot = ImPlot::GetPlotPos(), extent = ImPlot::GetPlotSize();
  const std::vector<EndLabel> labels = end_labels(s);
  end_plot();
  draw_end_labels(labels, plot.x + extent.x + px(6), names - px(6), plot.y, plot.y + extent.y);
  draw_text(
      {plot.x + extent.x / 2, box.max.y - px(16)}, Face::small, s.colours.faint,
      d.table->axes[0].title + (d.x.log ? ", log" : "") +
          (d.left_out > 0 ? fmt::format("; {} of {} lines, evenly chosen", d.lines.size(), d.lines.size() + d.left_out) : ""),
      0.5f);
  point_at(s, under, {plot, {plot.x + extent.x, plot.y + extent.y}});
}

}  // namespace attoscope
