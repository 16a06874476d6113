
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/result.h"
#include "kernels/questions/attribution.h"
#include "ui/picture/heatmap_view.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/widgets.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {
namespace {

/// Histogram bins per drawn bin. Outputs are doubles, so errors in ulps of fp64 are whole numbers, and quarter-ulp bins would
/// alternate between full and empty.
int bins_together(const Format& f) {
  constexpr int finest = std::numeric_limits<double>::digits - 1 - 2;  // mantissa bits up to which a double holds a quarter ulp
  return std::min(UlpHistogram::per_ulp, 1 << std::max(0, f.mantissa_bits - finest));
}

/// Shares of drawn bins of `together` histogram bins, centred on possible errors.
Series shares_of(std::string label, Ink ink, const UlpHistogram& h, int together) {
  const double total = static_cast<double>(std::accumulate(h.counts.begin(), h.counts.end(), std::int64_t{0}));
  Series s = series_of(std::move(label), ink, Shape::steps);
  const int last = static_cast<int>(h.counts.size()) - 1, before = together / 2;
  for (int first = 1 - before - together; first <= last; first += together) {
    std::int64_t count = 0;
    for (int i = std::max(0, first); i < first + together && i <= last; ++i) count += h.counts[static_cast<std::size_t>(i)];
    if (first + together <= 0) continue;
    s.x.push_back(-UlpHistogram::reach + (first - 1 + 0.5 * together) / UlpHistogram::per_ulp);
    s.y.push_back(total > 0 ? static_cast<double>(count) / total : 0);
  }
  return s;
}

}  // namespace

FigurePanel ulps_panel(const Result& r) {
  const MethodNames names = method_names(r.experiment);
  FigurePanel p;
  p.x = number_axis("signed error in ulps of " + name(r.experiment.format));
  p.x.min = -(UlpHistogram::reach + 1.0 / UlpHistogram::per_ulp);
  p.x.max = -*p.x.min;
  p.y = number_axis("share of elements", true);
  p.y.min = least_share;
  p.y.max = 1.2;
  const int together = bins_together(r.experiment.format);
  p.series = {shares_of(names.b_after_a, Ink::b, r.b_error.ulps, together),
              shares_of(names.a, Ink::a, r.a_error.ulps, together)};
  return p;
}

FigurePanel why_panel(double total, const std::vector<NamedShare>& shares, bool of_b) {
  FigurePanel p;
  p.y = number_axis("change of mean |error|, %");
  Series s = series_of("", of_b ? Ink::b : Ink::a, Shape::bars);
  for (const NamedShare& share : shares) {
    s.x.push_back(static_cast<double>(p.x.categories.size()));
    s.y.push_back(-100 * share.relief / total);
    p.x.categories.emplace_back(share.name);
  }
  p.x.label = "step made exact";
  if (!s.y.empty()) {
    const auto [least, largest] = std::ranges::minmax(s.y);
    if (least >= 0) p.y.min = 0;
    if (largest <= 0) p.y.max = 0;
  }
  p.series = {std::move(s)};
  return p;
}

FigurePanel bytes_panel(std::span<const TrafficOf> all) {
  FigurePanel p;
  p.y = number_axis("HBM traffic");
  p.y.unit.push_back('B');
  p.y.min = 0;
  for (const TrafficOf& t : all) {
    Series s = series_of("", t.ink, Shape::bars);
    s.x = {static_cast<double>(p.x.categories.size())};
    s.y = {t.bytes};
    p.series.push_back(std::move(s));
    p.x.categories.emplace_back(t.name);
  }
  return p;
}

FigurePanel roofline_panel(std::span<const TrafficOf> all, const DataSheet& machine) {
  FigurePanel p;
  p.title = std::string(machine.name) + ", by its data sheet";
  p.x = number_axis("useful operations per byte", true);
  p.y = number_axis("attainable Tflop/s", true);
  double first = 1, last = 1e4;
  for (const TrafficOf& t : all)
    if (t.intensity > 0)
      first = std::min(first, std::pow(10.0, std::floor(std::log10(t.intensity)))),
      last = std::max(last, std::pow(10.0, std::ceil(std::log10(t.intensity))));
  Series roof = series_of("roof", Ink::golden, Shape::line);
  roof.x = {first, ridge(machine), last};
  for (const double x : roof.x) roof.y.push_back(attainable(machine, x));
  p.series.push_back(std::move(roof));
  constexpr std::array shapes{Ink::four, Ink::two, Ink::one, Ink::five, Ink::three, Ink::six};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Ink own = all[i].ink;
    Series s = series_of(all[i].name, own == Ink::golden ? shapes[i] : own, Shape::marks);
    s.x = {all[i].intensity};
    s.y = {attainable(machine, all[i].intensity)};
    p.series.push_back(std::move(s));
  }
  p.x.min = first;
  p.x.max = last;
  return p;
}

void draw_histogram(const ShownTensor& shown) {
  const Result& r = *shown.result;
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float title = px(26), height = std::min(room.y - title - px(4), px(280));
  if (height < px(48)) return;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy({room.x, title});
  explain(
      "The frequency of each signed error, in ulps of the main format; the outermost bins hold all beyond 8 ulps. A curve that "
      "is not symmetric is a bias.",
      "(x - golden) / ulp(max(|golden|, RMS/100))");
  draw_text({at.x, at.y + px(7)}, Face::label, colours().text,
            about_tensor(shown, "Signed error in " + name(r.experiment.format) + " ulps"));
  draw_text({at.x + room.x, at.y + px(8)}, Face::small, colours().faint, "share, log", 1);
  static constexpr double x_ticks[] = {-8, -4, 0, 4, 8}, y_ticks[] = {1e-6, 1e-4, 1e-2, 1};
  static constexpr const char* y_labels[] = {"1e-6", "1e-4", "1 %", "1"};
  const FigurePanel p = ulps_panel(r);
  if (!begin_plot({"##ulps", *p.x.min, *p.x.max, *p.y.min, *p.y.max, p.y.log, x_ticks, y_ticks, {}, y_labels},
                  {room.x, height}))
    return;
  for (const Series& s : p.series)  // clamped, as a logarithm has no 0
    draw_clamped_steps(s.ink == Ink::a ? "##a" : "##b", s, least_share / 2, 1,
                       stroke(s.ink == Ink::a ? colours().a : colours().b), s.x[1] - s.x[0]);
  end_plot();
}

}  // namespace attoscope::ui
