#include "ui/frame/panel_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ui/words/numbers.h"

namespace attoscope::ui {
namespace {

/// Takes v if the axis can show it.
void take_drawable(NumberSpan& y, const FigureAxis& axis, double v) {
  if (!axis.log || v > 0) y.take(v);
}

}  // namespace

NumberSpan x_range(const FigurePanel& p) {
  NumberSpan x;
  for (const Series& s : p.series)
    for (const double v : s.x) x.take(v);
  if (!(x.low <= x.high)) x = {p.x.log ? 1.0 : 0.0, p.x.log ? 10.0 : 1.0};
  if (p.x.log) {
    const double margin = std::max(std::pow(x.high / x.low, 0.04), 1.05);
    x = {x.low / margin, x.high * margin};
  } else {
    const double alone = x.high == 0 ? 1 : std::abs(x.high) / 2;
    const double margin = x.low < x.high ? std::max(0.04 * (x.high - x.low), 1e-9) : alone;
    x = {x.low - margin, x.high + margin};
  }
  return {p.x.min.value_or(x.low), p.x.max.value_or(x.high)};
}

NumberSpan y_range(const FigureAxis& axis, std::span<const Series* const> shown) {
  constexpr double decades = 1e-20, margin = 0.06;
  NumberSpan y;
  for (const Series* const s : shown) {
    if (s->shape != Shape::band)
      for (const double v : s->y) take_drawable(y, axis, v);
    for (const std::vector<double>* const ends : {&s->low, &s->high})
      for (const double v : *ends) take_drawable(y, axis, v);
  }
  if (!(y.low <= y.high)) y = {axis.log ? 0.1 : 0.0, 1};
  if (axis.log) {
    const double low = std::max({y.low, y.high * decades, 1e-300}), air = std::max(1.1, std::pow(y.high / low, margin));
    y = {low / air, y.high * air};
  } else {
    const bool stands = std::ranges::any_of(shown, [](const Series* s) { return s->shape == Shape::bars; }),
               from_0 = y.low >= 0 && (stands || y.low < 0.4 * y.high);
    const double air = std::max({margin * y.high - margin * y.low, 1e-3 * std::abs(y.high), 1e-30});
    y = {from_0 ? 0 : y.low - air, y.high + air};
  }
  constexpr double far = 1e300;  // ImPlot's arithmetic on limits overflows beyond
  return {std::clamp(axis.min.value_or(y.low), -far, far), std::clamp(axis.max.value_or(y.high), -far, far)};
}

std::vector<double> round_ticks(double y0, double y1, double most) {
  double step = std::pow(10.0, std::floor(std::log10((y1 - y0) / most)));
  for (const double factor : {2.0, 2.5, 2.0})
    if ((y1 - y0) / step > most) step *= factor;
  std::vector<double> ticks;
  for (double k = std::ceil(y0 / step); k * step <= y1 && ticks.size() < 64; ++k)
    ticks.push_back(k * step + 0.0);  // -0 becomes 0
  return ticks;
}

std::vector<double> axis_ticks(double y0, double y1, bool log, double most) {
  if (!log || y1 < 8 * y0) return round_ticks(y0, y1, most);
  const int first = static_cast<int>(std::floor(std::log10(y0))), last = static_cast<int>(std::ceil(std::log10(y1)));
  const int step = std::max(1, static_cast<int>(std::ceil((last - first) / std::max(1.0, most))));
  const bool fine = y1 <= 100 * y0;
  std::vector<double> ticks;
  for (int e = first; e <= last; e += step)
    for (const double factor : {1.0, 2.0, 5.0})
      if (const double t = factor * std::pow(10.0, e); (fine || factor == 1) && t >= y0 * (1 - 1e-9) && t <= y1 * (1 + 1e-9))
        ticks.push_back(t);
  return ticks;
}

std::string tick_text(double value) {
  const double size = std::abs(value);
  std::string text = compact(value);
  for (int digits = 3; digits < 13 && std::abs(to_number<double>(text).value_or(value) - value) > 1e-11 * size; ++digits)
    text = size >= 0.0995 && size < 1e6 ? fmt::format("{:.{}g}", value, digits) : scientific(value, digits);
  return text;
}

}  // namespace attoscope::ui
