#include "ui/widgets/plot.h"

#include <algorithm>
#include <cmath>

#include "kernels/experiment/result.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

int tick_text(double value, char* buffer, int size, void*) {
  return std::snprintf(buffer, static_cast<std::size_t>(size), "%s", compact(value).c_str());
}

int decade_text(double value, char* buffer, int size, void*) {
  return std::snprintf(buffer, static_cast<std::size_t>(size), "%s", scientific(value, 1).c_str());
}

void set_ticks(ImAxis axis, bool log, std::span<const double> ticks, std::span<const char* const> labels) {
  ImPlot::SetupAxisFormat(axis, log ? decade_text : tick_text);
  if (!ticks.empty())
    ImPlot::SetupAxisTicks(axis, ticks.data(), static_cast<int>(ticks.size()), labels.empty() ? nullptr : labels.data());
}

/// Powers of ten between y0 and y1, at most `most` of them.
std::vector<double> decade_ticks(double y0, double y1, double most) {
  const double first = std::ceil(std::log10(y0) - 1e-9), last = std::floor(std::log10(y1) + 1e-9);
  const double step = std::max(1.0, std::ceil((last - first + 1) / most));
  std::vector<double> ticks;
  for (double e = first; e <= last && ticks.size() < 64; e += step) ticks.push_back(std::pow(10.0, e));
  return ticks;
}

ImVec4 vec(Colour c, float alpha = 1) { return ImGui::ColorConvertU32ToFloat4(faded(c, alpha)); }

}  // namespace

std::vector<double> round_ticks(double y0, double y1, double most) {
  double step = std::pow(10.0, std::floor(std::log10((y1 - y0) / most)));
  for (const double factor : {2.0, 2.5, 2.0})
    if ((y1 - y0) / step > most) step *= factor;
  std::vector<double> ticks;
  for (double k = std::ceil(y0 / step); k * step <= y1 && ticks.size() < 64; ++k)
    ticks.push_back(k * step + 0.0);  // -0 becomes 0
  return ticks;
}

bool begin_plot(const PlotFrame& frame, ImVec2 size) {
  const Fonts& f = fonts();
  ImGui::PushFont(f.mono, 11.5f);
  ImPlot::PushStyleVar(ImPlotStyleVar_LabelPadding, ImVec2{px(5), px(4)});
  if (!ImPlot::BeginPlot(frame.id, size, ImPlotFlags_CanvasOnly | ImPlotFlags_NoInputs | ImPlotFlags_NoFrame)) {
    ImPlot::PopStyleVar();
    ImGui::PopFont();
    return false;
  }
  constexpr ImPlotAxisFlags flags = ImPlotAxisFlags_NoLabel | ImPlotAxisFlags_NoTickMarks | ImPlotAxisFlags_NoMenus |
                                    ImPlotAxisFlags_NoSideSwitch | ImPlotAxisFlags_NoHighlight;
  ImPlot::SetupAxes(nullptr, nullptr, flags | ImPlotAxisFlags_NoGridLines, flags);
  const double far = 1e300;  // ImPlot's arithmetic on limits overflows beyond
  const auto within = [far](double x) { return std::clamp(x, -far, far); };
  ImPlot::SetupAxisLimits(ImAxis_X1, within(frame.x0), within(frame.x1), ImPlotCond_Always);
  ImPlot::SetupAxisLimits(ImAxis_Y1, within(frame.y0), within(frame.y1), ImPlotCond_Always);
  if (frame.log_y) ImPlot::SetupAxisScale(ImAxis_Y1, ImPlotScale_Log10);
  if (frame.log_x) ImPlot::SetupAxisScale(ImAxis_X1, ImPlotScale_Log10);
  std::vector<double> decades;
  if (frame.log_x && frame.x_ticks.empty())
    decades = decade_ticks(frame.x0, frame.x1, std::max(2.0, static_cast<double>(size.x / px(56))));
  set_ticks(ImAxis_X1, frame.log_x, decades.empty() ? frame.x_ticks : decades, frame.x_labels);
  std::vector<double> own;
  if (frame.y_ticks.empty())
    own = (frame.log_y ? decade_ticks : round_ticks)(frame.y0, frame.y1, std::max(2.0, static_cast<double>(size.y / px(34))));
  set_ticks(ImAxis_Y1, frame.log_y, own.empty() ? frame.y_ticks : own, frame.y_labels);
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
  spec.FillColor = vec(colour, alpha);
  spec.LineColor = vec(colour, 0);
  spec.LineWeight = 0;
  return spec;
}

ImPlotSpec dots(Colour colour, float radius, bool filled) {
  ImPlotSpec spec;
  spec.Marker = ImPlotMarker_Circle;
  spec.MarkerSize = px(radius);
  spec.LineColor = spec.MarkerLineColor = vec(colour);
  spec.LineWeight = px(1.2f);
  spec.MarkerFillColor = vec(colour, filled ? 1.0f : 0.0f);
  return spec;
}

Points decimated(std::span<const double> x, std::span<const double> y, double x0, double x1, double pixels) {
  const auto first = static_cast<std::size_t>(std::lower_bound(x.begin(), x.end(), x0 - 1) - x.begin());
  const auto end = static_cast<std::size_t>(std::upper_bound(x.begin(), x.end(), x1 + 1) - x.begin());
  const std::size_t count = end > first ? end - first : 0;
  const auto buckets = static_cast<std::size_t>(std::max(1.0, pixels));
  if (count <= 2 * buckets)
    return {{x.begin() + static_cast<std::ptrdiff_t>(first), x.begin() + static_cast<std::ptrdiff_t>(end)},
            {y.begin() + static_cast<std::ptrdiff_t>(first), y.begin() + static_cast<std::ptrdiff_t>(end)}};
  Points result;
  for (std::size_t b = 0; b < buckets; ++b) {
    const std::size_t from = first + b * count / buckets, to = first + (b + 1) * count / buckets;
    std::size_t low = from, high = from;
    for (std::size_t i = from; i < to; ++i) {
      if (y[i] < y[low] || std::isnan(y[low])) low = i;
      if (y[i] > y[high] || std::isnan(y[high])) high = i;
    }
    for (const std::size_t i : {std::min(low, high), std::max(low, high)}) {
      result.x.push_back(x[i]);
      result.y.push_back(y[i]);
      if (low == high) break;
    }
  }
  return result;
}

void draw_steps(const char* id, std::span<const double> x, std::span<const double> y, const ImPlotSpec& spec, double width) {
  if (x.empty()) return;
  const ImPlotRect limits = ImPlot::GetPlotLimits();
  const double pixels = ImPlot::GetPlotSize().x;
  Points p = decimated(x, y, limits.X.Min, limits.X.Max, pixels);
  if (p.x.empty()) return;
  for (double& t : p.x) t -= width / 2;
  p.x.push_back(p.x.back() + width);
  p.y.push_back(p.y.back());
  ImPlot::PlotStairs(id, p.x.data(), p.y.data(), static_cast<int>(p.x.size()), spec);
}

void draw_clamped_steps(const char* id, const Series& series, double low, double high, const ImPlotSpec& spec, double width) {
  std::vector<double> shown = series.y;
  for (double& v : shown) v = std::isfinite(v) ? std::clamp(v, low, high) : high;
  draw_steps(id, series.x, shown, spec, width);
}

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
  for (const EndLabel& l : labels) draw_text({x, l.y}, Face::mono_small, l.colour, fitted(Face::mono_small, l.name, width));
}

}  // namespace attoscope
