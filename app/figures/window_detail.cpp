// What stands at the lower right of the window, as panels: ulps, scatter, attribution, traffic.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "app/figures/window_plots.h"
#include "kernels/format.h"
#include "ui/sentences.h"
#include "ui/theme.h"
#include "ui/traffic.h"

namespace attoscope {
namespace {

Series shares_of(std::string label, Ink ink, const UlpHistogram& h) {
  const double total = static_cast<double>(std::accumulate(h.counts.begin(), h.counts.end(), std::int64_t{0}));
  Series s = empty_series(std::move(label), ink, Shape::steps);
  for (std::size_t i = 0; i < h.counts.size(); ++i) {
    s.x.push_back(-UlpHistogram::reach + (static_cast<double>(i) - 0.5) / UlpHistogram::per_ulp);
    s.y.push_back(total > 0 ? static_cast<double>(h.counts[i]) / total : 0);
  }
  return s;
}

Series points_of(std::string label, Ink ink, const std::vector<ScatterPoints::Point>& points) {
  Series s = empty_series(std::move(label), ink, Shape::dots);
  for (const ScatterPoints::Point& p : points) {
    s.x.push_back(std::pow(10.0, static_cast<double>(p.x)));
    s.y.push_back(std::pow(10.0, static_cast<double>(p.y)));
  }
  return s;
}

/// Half an ulp of the format over the magnitudes [low, high]: it steps at every power of two.
Series half_ulp(const Format& format, double low, double high) {
  constexpr std::size_t most = 512;
  Series s = empty_series("½ ulp of " + name(format), Ink::text, Shape::line);
  for (double x = std::exp2(std::floor(std::log2(low))); x < high && s.x.size() < 2 * most; x *= 2) {
    const double half = ulp(format, x) / 2;
    if (!(half > 0)) continue;
    s.x.insert(s.x.end(), {x, 2 * x});
    s.y.insert(s.y.end(), {half, half});
  }
  return s;
}

/// The ink of one algorithm's traffic: a's or b's where it is what they do.
Ink ink_of(const TrafficOf& t, const Palette& colours) {
  return t.colour == colours.a ? Ink::a : t.colour == colours.b ? Ink::b : Ink::golden;
}

FigurePanel bytes_panel(const TrafficOfAll& all, const Palette& colours) {
  FigurePanel p;
  p.y = number_axis("HBM traffic");
  p.y.unit.push_back('B');
  p.y.min = 0;
  for (const TrafficOf& t : all) {
    Series s = empty_series("", ink_of(t, colours), Shape::bars);
    s.x = {static_cast<double>(p.x.categories.size())};
    s.y = {t.bytes};
    p.series.push_back(std::move(s));
    p.x.categories.emplace_back(t.name);
  }
  return p;
}

FigurePanel roofline_panel(const TrafficOfAll& all, const DataSheet& machine, const Palette& colours) {
  FigurePanel p;
  p.title = std::string(machine.name) + ", by its data sheet";
  p.x = number_axis("useful operations per byte", true);
  p.y = number_axis("attainable Tflop/s", true);
  double first = 1, last = 1e4;
  for (const TrafficOf& t : all)
    if (t.intensity > 0)
      first = std::min(first, std::pow(10.0, std::floor(std::log10(t.intensity)))),
      last = std::max(last, std::pow(10.0, std::ceil(std::log10(t.intensity))));
  Series roof = empty_series("roof", Ink::golden, Shape::line);
  roof.x = {first, ridge(machine), last};
  for (const double x : roof.x) roof.y.push_back(attainable(machine, x));
  p.series.push_back(std::move(roof));
  constexpr std::array shapes{Ink::four, Ink::two, Ink::one};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Ink own = ink_of(all[i], colours);
    Series s = empty_series(all[i].name, own == Ink::golden ? shapes[i] : own, Shape::marks);
    s.x = {all[i].intensity};
    s.y = {attainable(machine, all[i].intensity)};
    p.series.push_back(std::move(s));
  }
  p.x.min = first;
  p.x.max = last;
  return p;
}

}  // namespace

std::vector<FigurePanel> ulps_panels(const Result& r) {
  constexpr double least_share = 1e-6;
  const MethodNames names = method_names(r.experiment);
  FigurePanel p;
  p.x = number_axis("signed error in ulps of " + name(r.experiment.format));
  p.x.min = -(UlpHistogram::reach + 1.0 / UlpHistogram::per_ulp);
  p.x.max = -*p.x.min;
  p.y = number_axis("share of elements", true);
  p.y.min = least_share;
  p.y.max = 1.2;
  p.series = {shares_of(names.b_after_a, Ink::b, r.b_error.ulps), shares_of(names.a, Ink::a, r.a_error.ulps)};
  return {p};
}

std::vector<FigurePanel> scatter_panels(const std::shared_ptr<const Result>& result) {
  ScatterMemory m;
  refresh_scatter(m, result);
  if (m.a.empty() && m.b.empty()) throw std::invalid_argument("Neither a nor b errs anywhere, so there is no point to draw.");
  const MethodNames names = method_names(result->experiment);
  const auto power = [](float x) { return std::pow(10.0, static_cast<double>(x)); };
  FigurePanel p;
  p.x = number_axis("|golden|", true);
  p.y = number_axis("|error|", true);
  p.x.min = power(m.x0), p.x.max = power(m.x1), p.y.min = power(m.y0), p.y.max = power(m.y1);
  p.series = {points_of(names.b_after_a, Ink::b, m.b), points_of(names.a, Ink::a, m.a),
              half_ulp(result->experiment.format, *p.x.min, *p.x.max)};
  return {p};
}

std::vector<FigurePanel> why_panels(const Attribution& all) {
  if (all.steps.empty())
    throw std::invalid_argument("No step of a rounds anything but the inputs, so there is nothing to attribute.");
  FigurePanel p;
  p.y = number_axis("change of mean |error|, %");
  Series s = empty_series("", Ink::a, Shape::bars);
  for (const StepShare& share : all.steps) {
    s.x.push_back(static_cast<double>(p.x.categories.size()));
    s.y.push_back(-100 * share.relief / all.total.mean_abs);
    p.x.categories.emplace_back(name(share.step));
  }
  p.x.label = "step made exact";
  const auto [least, largest] = std::ranges::minmax(s.y);
  if (least >= 0) p.y.min = 0;
  if (largest <= 0) p.y.max = 0;
  p.series = {std::move(s)};
  return {p};
}

std::vector<FigurePanel> traffic_panels(const Result& r, Machine machine) {
  const Palette& colours = palette(Theme::light);
  const TrafficOfAll all = traffic_of_all(r, colours);
  return {bytes_panel(all, colours), roofline_panel(all, data_sheets[static_cast<std::size_t>(machine)], colours)};
}

}  // namespace attoscope
