// Plots of a format's rounding as a staircase, and of exp against the limits of formats.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "implot.h"
#include "ui/learn/views/view_parts.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

struct Points {
  std::vector<double> x, y;
};

/// Two samples a pixel of y(x) over [from, to].
template <class Y>
Points sampled_curve(double from, double to, float pixels, Y y) {
  const int count = std::clamp(static_cast<int>(2 * pixels), 2, 8192);
  Points p;
  for (int i = 0; i <= count; ++i) {
    const double x = from + (to - from) * (i + 0.5) / (count + 1);
    p.x.push_back(x);
    p.y.push_back(y(x));
  }
  return p;
}

void draw_line(const char* id, const Points& p, const ImPlotSpec& spec) {
  ImPlot::PlotLine(id, p.x.data(), p.y.data(), static_cast<int>(p.x.size()), spec);
}

// --- the staircase ----------------------------------------------------------------------------------------------------

/// The format and the range of the staircase.
struct Staircase {
  Format format;
  double from, to;
};

void draw_steps_of(const Staircase& s, ImVec2 size) {
  const double low = std::min(s.from, round(s.format, s.from)), high = std::max(s.to, round(s.format, s.to));
  if (!begin_plot({"##staircase", s.from, s.to, low, high, false, {}, {}, {}, {}}, size)) return;
  draw_line("##x", {{s.from, s.to}, {s.from, s.to}}, stroke(colours().golden, 1.2f));
  draw_line("##round", sampled_curve(s.from, s.to, size.x, [&](double x) { return round(s.format, x); }),
            stroke(colours().a, 1.8f));
  end_plot();
}

void draw_error_of(const Staircase& s, ImVec2 size) {
  const double half = std::max(ulp(s.format, s.from), ulp(s.format, s.to)) / 2 * 1.15;
  if (!begin_plot({"##rounding error", s.from, s.to, -half, half, false, {}, {}, {}, {}}, size)) return;
  draw_line("##0", {{s.from, s.to}, {0, 0}}, stroke(colours().golden, 1.2f));
  for (const double sign : {-1.0, 1.0})
    draw_line(
        sign < 0 ? "##low" : "##high",
        sampled_curve(s.from, s.to, size.x, [&](double x) { return sign * ulp(s.format, x) / 2; }), stroke(colours().faint, 1));
  const auto error = [&](double x) {
    const double e = round(s.format, x) - x;
    return std::isfinite(e) ? e : std::copysign(2 * half, e);
  };
  draw_line("##error", sampled_curve(s.from, s.to, size.x, error), stroke(colours().a, 1.4f));
  end_plot();
}

std::string summary(const Staircase& s) {
  const double fine = std::min(ulp(s.format, s.from), ulp(s.format, s.to)),
               coarse = std::max(ulp(s.format, s.from), ulp(s.format, s.to));
  return fmt::format("{} from {} to {}: its numbers are {}{} apart; no error exceeds half of that.", name(s.format),
                     compact(s.from), compact(s.to), compact(fine), fine == coarse ? "" : (" to " + compact(coarse)));
}

// --- exp --------------------------------------------------------------------------------------------------------------

/// The scores over which exp is shown.
constexpr int least_score = -110, most_score = 110;

/// The limits of the formats as dashed lines, those that the score passes in the colour of what is bad. Returns their names.
std::vector<EndLabel> draw_limits(const std::vector<Format>& formats, double score) {
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  std::vector<EndLabel> names;
  for (const Format& f : formats)
    for (const auto& [limit, passed] : {std::pair{largest(f), score > std::log(largest(f))},
                                        std::pair{smallest_subnormal(f), score < std::log(smallest_subnormal(f) / 2)}}) {
      const float y = ImPlot::PlotToPixels(1, limit).y;
      if (y < at.y || y > at.y + size.y) continue;
      const Colour ink = passed ? colours().bad : colours().secondary;
      draw_dashed(ImPlot::GetPlotDrawList(), {at.x, y}, {at.x + size.x, y}, ink, px(5), px(4));
      names.push_back({y, name(f) + " " + compact(limit), ink});
    }
  return names;
}

std::string summary(const std::vector<Format>& formats, int score) {
  const double y = std::exp(static_cast<double>(score));
  std::string text = fmt::format("exp({}) = {}", score, scientific(y, 4));
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const double stored = round(formats[i], y);
    text += (i == 0 ? ":  " : ",  ") + name(formats[i]) + " " + (std::isinf(stored) ? "∞" : compact(stored));
  }
  return text;
}

/// Decades that hold the limits of the formats, up to 10^45.
std::pair<double, double> decades(const std::vector<Format>& formats) {
  double low = 0, high = 0;
  for (const Format& f : formats) {
    low = std::min(low, std::log10(smallest_subnormal(f)));
    high = std::max(high, std::log10(largest(f)));
  }
  return {std::max(low * 1.1 - 1, -46.0), std::min(high * 1.1 + 1, 46.0)};
}

}  // namespace

std::string draw_staircase(LessonScene& scene, float height) {
  std::string problem;
  const Format& f = scene.experiment.format;
  const double eps = epsilon(f);
  const Staircase s{f, real_of(scene, "from", 1 - 4 * eps, problem), real_of(scene, "to", 1 + 8 * eps, problem)};
  if (!problem.empty()) return problem;
  if (!(s.from < s.to) || !std::isfinite(s.to - s.from))
    return refusal("to", in_full(s.to), "a number above from, " + in_full(s.from));
  draw_view_summary(scene, colours().secondary, summary(s));
  draw_plot_head(scene, "round(" + name(f) + ", x) and x", "over x");
  draw_steps_of(s, {scene.width, std::floor(height * 0.62f)});
  draw_plot_head(scene, "round(x) − x, between half an ulp below and above", "error");
  draw_error_of(s, {scene.width, std::floor(height * 0.38f)});
  return "";
}

std::string draw_exp_plot(LessonScene& scene, float height) {
  std::string problem;
  const std::vector<Format> formats = formats_of(scene, "fp16, bf16, e4m3", problem);
  int score = whole_of(scene, "value", 12, least_score, most_score, problem);
  if (!problem.empty()) return problem;
  const auto [low, high] = decades(formats);
  const double x0 = low * std::log(10.0), x1 = high * std::log(10.0);
  if (!is_on_page(scene)) {
    const WithWidth half(std::min(scene.width, px(480)));
    const int first = std::max(least_score, static_cast<int>(std::ceil(x0))), last = std::min(most_score, static_cast<int>(x1));
    if (slider({"score x", first, last, least_score, most_score}, score)) change(scene, "value", std::to_string(score));
    explain("A score, and its exponential in each format. With the maximum subtracted no score is above 0.",
            "round(format, exp(x))");
  }
  draw_view_summary(scene, colours().secondary, summary(formats, score));
  draw_plot_head(scene, "exp(x) and the limits of the formats", "over x");
  const float names = px(96);
  if (!begin_plot({"##exp", x0, x1, std::pow(10.0, low), std::pow(10.0, high), true, {}, {}, {}, {}},
                  {scene.width - names, height}))
    return "";
  const std::vector<EndLabel> limits = draw_limits(formats, score);
  draw_line("##e", {{x0, x1}, {std::exp(x0), std::exp(x1)}}, stroke(colours().golden, 2));
  const ImVec2 at = ImPlot::PlotToPixels(score, std::exp(static_cast<double>(score)));
  const ImVec2 from = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  ImDrawList* list = ImPlot::GetPlotDrawList();
  list->AddLine({at.x, from.y}, {at.x, from.y + size.y}, faded(colours().accent, 0.6f), px(1.4f));
  list->AddCircleFilled(at, px(5), colours().text);
  end_plot();
  draw_end_labels(limits, from.x + size.x + px(8), names - px(8), from.y, from.y + size.y);
  return "";
}

}  // namespace attoscope
