// Plots of a format's rounding as a staircase, and of exp against the limits of formats.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "implot.h"
#include "ui/learn/views/view_parts.h"
#include "ui/widgets/panel_plot.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

constexpr int samples = 2000;

/// y(x) at equal steps over [from, to].
template <class Y>
Series sampled_series(std::string label, Ink ink, double from, double to, Y y) {
  Series s = series_of(std::move(label), ink, Shape::line);
  for (int i = 0; i <= samples; ++i) {
    s.x.push_back(from + (to - from) * (i + 0.5) / (samples + 1));
    s.y.push_back(y(s.x.back()));
  }
  return s;
}

// --- the staircase ----------------------------------------------------------------------------------------------------

/// The format and the range of the staircase.
struct Staircase {
  Format format;
  double from, to;
};

Staircase staircase_of(const LessonScene& scene, std::string& problem) {
  const Format& f = scene.experiment.format;
  const double eps = epsilon(f);
  const Staircase s{f, real_of(scene, "from", 1 - 4 * eps, problem), real_of(scene, "to", 1 + 8 * eps, problem)};
  if (problem.empty() && (!(s.from < s.to) || !std::isfinite(s.to - s.from)))
    problem = refusal("to", in_full(s.to), "a number above from, " + in_full(s.from));
  return s;
}

/// A panel over x, between two values of y.
FigurePanel panel_over_x(const Staircase& s, const std::string& y, double low, double high) {
  FigurePanel p;
  p.x = number_axis("x"), p.y = number_axis(y);
  p.x.min = s.from, p.x.max = s.to, p.y.min = low, p.y.max = high;
  return p;
}

FigurePanel rounded_panel(const Staircase& s) {
  FigurePanel p = panel_over_x(s, "round(" + name(s.format) + ", x)", std::min(s.from, round(s.format, s.from)),
                               std::max(s.to, round(s.format, s.to)));
  p.series = {
      series_of("x", Ink::golden, Shape::line, {s.from, s.to}, {s.from, s.to}),
      sampled_series("round(" + name(s.format) + ", x)", Ink::a, s.from, s.to, [&](double x) { return round(s.format, x); })};
  return p;
}

FigurePanel rounding_error_panel(const Staircase& s) {
  const double half = std::max(ulp(s.format, s.from), ulp(s.format, s.to)) / 2 * 1.15;
  FigurePanel p = panel_over_x(s, "round(" + name(s.format) + ", x) − x", -half, half);
  p.series = {series_of("", Ink::golden, Shape::line, {s.from, s.to}, {0, 0})};
  for (const double sign : {-1.0, 1.0}) {
    p.series.push_back(sampled_series(sign > 0 ? "half an ulp" : "", Ink::text, s.from, s.to,
                                      [&](double x) { return sign * ulp(s.format, x) / 2; }));
    p.series.back().dashed = true;
  }
  p.series.push_back(sampled_series("error", Ink::a, s.from, s.to, [&](double x) {
    const double e = round(s.format, x) - x;
    return std::isfinite(e) ? e : std::copysign(2 * half, e);
  }));
  return p;
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

/// exp over scores, and the limits of formats as dashed lines, those that the score passes in the colour of what is bad.
FigurePanel exp_panel(const std::vector<Format>& formats, int score) {
  const auto [low, high] = decades(formats);
  const double x0 = low * std::log(10.0), x1 = high * std::log(10.0);
  FigurePanel p;
  p.x = number_axis("score x"), p.y = number_axis("exp(x)", true);
  p.x.min = x0, p.x.max = x1, p.y.min = std::pow(10.0, low), p.y.max = std::pow(10.0, high);
  p.series = {series_of("exp(x)", Ink::golden, Shape::line, {x0, x1}, {std::exp(x0), std::exp(x1)})};
  for (const Format& f : formats)
    for (const auto& [limit, passed] : {std::pair{largest(f), score > std::log(largest(f))},
                                        std::pair{smallest_subnormal(f), score < std::log(smallest_subnormal(f) / 2)}}) {
      if (limit < *p.y.min || limit > *p.y.max) continue;
      p.series.push_back(
          series_of(name(f) + " " + compact(limit), passed ? Ink::bad : Ink::text, Shape::line, {x0, x1}, {limit, limit}));
      p.series.back().dashed = true;
    }
  return p;
}

constexpr const char* usual_formats = "fp16, bf16, e4m3";
constexpr int usual_score = 12;

}  // namespace

std::vector<FigurePanel> staircase_panels(const LessonScene& scene, std::string& problem) {
  const Staircase s = staircase_of(scene, problem);
  if (!problem.empty()) return {};
  return {rounded_panel(s), rounding_error_panel(s)};
}

std::vector<FigurePanel> exp_panels(const LessonScene& scene, std::string& problem) {
  const std::vector<Format> formats = formats_of(scene, usual_formats, problem);
  const int score = whole_of(scene, "value", usual_score, least_score, most_score, problem);
  if (!problem.empty()) return {};
  return {exp_panel(formats, score)};
}

std::string draw_staircase(LessonScene& scene, float height) {
  std::string problem;
  const Staircase s = staircase_of(scene, problem);
  if (!problem.empty()) return problem;
  draw_view_summary(scene, colours().secondary, summary(s));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_plot_header(scene, "round(" + name(s.format) + ", x) and x", "over x");
  draw_panel(rounded_panel(s), {.id = "##staircase"}, {scene.width, std::floor(height * 0.62f)});
  draw_plot_header(scene, "round(x) − x, between half an ulp below and above", "error");
  draw_panel(rounding_error_panel(s), {.id = "##rounding error"}, {scene.width, std::floor(height * 0.38f)});
  offer_own_figure(scene, at, {at.x + scene.width, ImGui::GetCursorScreenPos().y});
  return "";
}

std::string draw_exp_plot(LessonScene& scene, float height) {
  std::string problem;
  const std::vector<Format> formats = formats_of(scene, usual_formats, problem);
  int score = whole_of(scene, "value", usual_score, least_score, most_score, problem);
  if (!problem.empty()) return problem;
  const FigurePanel panel = exp_panel(formats, score);
  if (!is_on_page(scene)) {
    const WithWidth half(std::min(scene.width, px(480)));
    const int first = std::max(least_score, static_cast<int>(std::ceil(*panel.x.min))),
              last = std::min(most_score, static_cast<int>(*panel.x.max));
    if (slider({"score x", first, last, least_score, most_score}, score)) change(scene, "value", std::to_string(score));
    explain("A score, and its exponential in each format. With the maximum subtracted no score is above 0.",
            "round(format, exp(x))");
  }
  draw_view_summary(scene, colours().secondary, summary(formats, score));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_plot_header(scene, "exp(x) and the limits of the formats", "over x");
  PanelLook look{.id = "##exp", .label_width = px(96)};
  for (const Series& s : panel.series)
    if (s.dashed) look.label_width = std::max(look.label_width, text_width(Face::mono, s.label) + px(10));
  look.label = [](const Series& s) { return s.dashed ? s.label : ""; };
  look.above = [&] {
    draw_vertical(score, faded(colours().accent, 0.6f), 1.4f);
    ImPlot::GetPlotDrawList()->AddCircleFilled(ImPlot::PlotToPixels(score, std::exp(static_cast<double>(score))), px(5),
                                               colours().text);
  };
  draw_panel(panel, look, {scene.width, height});
  offer_own_figure(scene, at, {at.x + scene.width, ImGui::GetCursorScreenPos().y});
  return "";
}

}  // namespace attoscope::ui
