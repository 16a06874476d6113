// Signed errors in ulps of the main format.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "ui/numbers.h"
#include "ui/panels.h"
#include "ui/plot.h"
#include "ui/sentences.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

constexpr double least_share = 1e-6;
constexpr std::size_t bins = UlpHistogram::inner + 2;

/// Shares of the bins; none so small that a logarithm would lose it.
std::array<double, bins + 1> shares(const UlpHistogram& h) {
  const double total = static_cast<double>(std::accumulate(h.counts.begin(), h.counts.end(), std::int64_t{0}));
  std::array<double, bins + 1> result{};
  for (std::size_t i = 0; i < bins; ++i)
    result[i] = total > 0 ? std::max(least_share / 2, static_cast<double>(h.counts[i]) / total) : least_share / 2;
  result[bins] = result[bins - 1];
  return result;
}

/// Left edges of the bins, in ulps; the last is the right edge of all.
std::array<double, bins + 1> edges() {
  std::array<double, bins + 1> x{};
  for (std::size_t i = 0; i <= bins; ++i) x[i] = -UlpHistogram::reach + (static_cast<double>(i) - 1) / UlpHistogram::per_ulp;
  return x;
}

}  // namespace

void draw_histogram(const Result& r, const Palette& colours) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float title = px(26), height = std::min(room.y - title - px(4), px(280));
  if (height < px(48)) return;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy({room.x, title});
  explain(
      "How often each signed error occurs, in ulps of the main format; the outermost bins hold all beyond 8 ulps. A curve that "
      "is not symmetric is a bias.",
      "(x - golden) / ulp(max(|golden|, RMS/100))");
  draw_text({at.x, at.y + px(7)}, Face::label, colours.text, "Signed error in " + name(r.experiment.format) + " ulps");
  draw_text({at.x + room.x, at.y + px(8)}, Face::small, colours.faint, "share, log", 1);
  static constexpr double x_ticks[] = {-8, -4, 0, 4, 8}, y_ticks[] = {1e-6, 1e-4, 1e-2, 1};
  static constexpr const char* y_labels[] = {"1e-6", "1e-4", "1 %", "1"};
  const double end = UlpHistogram::reach + 1.0 / UlpHistogram::per_ulp;
  if (!begin_plot({"##ulps", -end, end, least_share, 1.2, true, x_ticks, y_ticks, {}, y_labels}, {room.x, height})) return;
  const auto x = edges();
  const auto a = shares(r.a_error.ulps), b = shares(r.b_error.ulps);
  ImPlot::PlotStairs("##b", x.data(), b.data(), static_cast<int>(bins + 1), stroke(colours.b));
  ImPlot::PlotStairs("##a", x.data(), a.data(), static_cast<int>(bins + 1), stroke(colours.a));
  end_plot();
}

}  // namespace attoscope
