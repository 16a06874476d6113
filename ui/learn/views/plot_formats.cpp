// Plots of a format's rounding as a staircase, of exp against the limits of formats, and of two heaps of weights, their sorted
// values paired by lines: Wasserstein-1 is the mean length of the lines.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "implot.h"
#include "kernels/train/measures.h"
#include "kernels/train/plan/parameters.h"
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

/// The least and the largest distance of the format's numbers between `from` and `to`: the spacing changes at powers of two, so
/// an end counts by the numbers inside of it.
std::pair<double, double> spacing(const Staircase& s) {
  const auto [fine, coarse] =
      std::minmax({ulp(s.format, std::nextafter(s.from, s.to)), ulp(s.format, std::nextafter(s.to, s.from))});
  return {s.from < 0 && s.to > 0 ? ulp(s.format, 0) : fine, coarse};
}

/// A panel over x, between two values of y.
FigurePanel panel_over_x(const Staircase& s, const std::string& y, double low, double high) {
  FigurePanel p;
  p.x = {.label = "x", .min = s.from, .max = s.to};
  p.y = {.label = y, .min = low, .max = high};
  return p;
}

FigurePanel rounded_panel(const Staircase& s) {
  const double air = (s.to - s.from) / 20;  // keeps the first names of the two axes apart
  FigurePanel p = panel_over_x(s, "round(" + name(s.format) + ", x)", std::min(s.from, round(s.format, s.from)) - air,
                               std::max(s.to, round(s.format, s.to)) + air);
  p.series = {
      series_of("x", Ink::golden, Shape::line, {s.from, s.to}, {s.from, s.to}),
      sampled_series("round(" + name(s.format) + ", x)", Ink::a, s.from, s.to, [&](double x) { return round(s.format, x); })};
  return p;
}

FigurePanel rounding_error_panel(const Staircase& s) {
  const double half = spacing(s).second / 2 * 1.15;
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
  const auto [fine, coarse] = spacing(s);
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

/// exp over scores, and the limits of formats as dashed lines; limits that the score passes have the ink `bad`.
FigurePanel exp_panel(const std::vector<Format>& formats, int score) {
  const auto [low, high] = decades(formats);
  const double x0 = low * std::log(10.0), x1 = high * std::log(10.0);
  FigurePanel p;
  p.x = {.label = "score x", .min = x0, .max = x1};
  p.y = {.label = "exp(x)", .log = true, .min = std::pow(10.0, low), .max = std::pow(10.0, high)};
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

constexpr int heap_bins = 32;

/// Weights of two models, sorted, and how far apart they are.
struct HeapsState {
  int n = 0;  ///< number of weights of each model
  std::uint64_t seed = 0;
  std::vector<float> x, y;
  double distance = 0;  ///< Wasserstein-1
};

/// The first `n` weights of W_Q in layer 0 of a model that starts from `seed`, sorted.
std::vector<float> sorted_weights(const Parameters& all, int n, std::uint64_t seed) {
  const ParameterTensor& tensor = *all.find(0, Weight::W_Q);
  const std::vector<float> weights = first_weights(all, ModelShape{}, seed);
  const auto first = weights.begin() + static_cast<std::ptrdiff_t>(tensor.first);
  std::vector<float> sorted(first, first + std::min<std::ptrdiff_t>(n, static_cast<std::ptrdiff_t>(tensor.size())));
  std::ranges::sort(sorted);
  return sorted;
}

void refresh_heaps(HeapsState& state, const Problem& problem) {
  if (state.n == problem.n && state.seed == problem.seed && !state.x.empty()) return;
  const Parameters all = parameters(ModelShape{}, 64);
  state = {problem.n, problem.seed, sorted_weights(all, problem.n, problem.seed),
           sorted_weights(all, problem.n, problem.seed + 1), 0};
  state.distance = wasserstein(state.x, state.y);
}

/// The places of the picture's parts: the numbers from `low` to `high` lie between x0 and x1.
struct HeapsRoom {
  float x0, x1, top, bottom;
  double low, high;
  float at(double value) const { return x0 + static_cast<float>((value - low) / (high - low)) * (x1 - x0); }
};

/// Counts of the values in equal bins of [low, high].
std::array<int, heap_bins> counts_of(std::span<const float> values, double low, double high) {
  std::array<int, heap_bins> counts{};
  for (const float v : values)
    ++counts[static_cast<std::size_t>(std::clamp((v - low) / (high - low) * heap_bins, 0.0, heap_bins - 1.0))];
  return counts;
}

/// Draws a histogram on `base`, at most `height` high; downwards if `height` is negative.
void draw_heap(const HeapsRoom& room, std::span<const float> values, float base, float height, Colour colour) {
  const std::array<int, heap_bins> counts = counts_of(values, room.low, room.high);
  const float most = static_cast<float>(*std::ranges::max_element(counts)), wide = (room.x1 - room.x0) / heap_bins;
  for (int i = 0; i < heap_bins; ++i) {
    const float x = room.x0 + static_cast<float>(i) * wide,
                y = base - height * static_cast<float>(counts[static_cast<std::size_t>(i)]) / most;
    ImGui::GetWindowDrawList()->AddRectFilled({x, std::min(base, y)}, {x + wide - px(1), std::max(base, y)}, colour);
  }
}

void draw_heaps(const HeapsState& state, const HeapsRoom& room) {
  const float upper = room.top + 0.32f * (room.bottom - room.top), lower = room.bottom - 0.32f * (room.bottom - room.top);
  draw_heap(room, state.x, upper, upper - room.top, colours().a);
  draw_heap(room, state.y, lower, lower - room.bottom, colours().b);
  const float alpha = std::clamp(64 / static_cast<float>(state.x.size()), 0.08f, 0.8f);
  for (std::size_t k = 0; k < state.x.size(); ++k)
    ImGui::GetWindowDrawList()->AddLine({room.at(state.x[k]), upper + px(2)}, {room.at(state.y[k]), lower - px(2)},
                                        faded(colours().text, alpha), px(1));
}

/// A histogram as steps upwards from 0, or downwards if `sign` is negative.
Series heap_series(std::string label, Ink ink, std::span<const float> values, double low, double high, double sign) {
  Series s = series_of(std::move(label), ink, Shape::steps);
  const std::array<int, heap_bins> counts = counts_of(values, low, high);
  for (int i = 0; i < heap_bins; ++i) {
    s.x.push_back(low + (i + 0.5) / heap_bins * (high - low));
    s.y.push_back(sign * counts[static_cast<std::size_t>(i)]);
  }
  return s;
}

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
  draw_view_summary(scene, summary(s));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (!ImPlot::BeginAlignedPlots("over x", true)) return "";
  draw_plot_header(scene, "round(" + name(s.format) + ", x) and x", "over x");
  draw_panel(rounded_panel(s), {.id = "##staircase"}, {scene.width, std::floor(height * 0.62f)});
  draw_plot_header(scene, "round(x) − x, between half an ulp below and above", "error");
  draw_panel(rounding_error_panel(s), {.id = "##rounding error"}, {scene.width, std::floor(height * 0.38f)});
  ImPlot::EndAlignedPlots();
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
  draw_view_summary(scene, summary(formats, score));
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

std::vector<FigurePanel> heaps_panels(const LessonScene& scene, std::string&) {
  constexpr double gap = std::numeric_limits<double>::quiet_NaN();
  HeapsState state;
  refresh_heaps(state, scene.experiment.problem);
  const double low = std::min(state.x.front(), state.y.front()),
               high = std::max({static_cast<double>(std::max(state.x.back(), state.y.back())), low + 1e-9});
  FigurePanel p;
  p.x = number_axis("weight");
  p.y = number_axis("weights of the first model up, of the second down");
  p.series = {heap_series(fmt::format("seed {}", state.seed), Ink::a, state.x, low, high, 1),
              heap_series(fmt::format("seed {}", state.seed + 1), Ink::b, state.y, low, high, -1)};
  const double height = 0.3 * std::ranges::max(p.series[0].y);
  Series lines = series_of("sorted values, joined", Ink::golden, Shape::line);
  for (std::size_t k = 0; k < state.x.size(); ++k) {
    for (const double x : {double{state.x[k]}, double{state.y[k]}, double{state.y[k]}}) lines.x.push_back(x);
    for (const double y : {height, -height, gap}) lines.y.push_back(y);
  }
  p.series.push_back(std::move(lines));
  return {std::move(p)};
}

std::string draw_heaps_plot(LessonScene& scene, float height) {
  auto& state = own_state<HeapsState>(scene);
  refresh_heaps(state, scene.experiment.problem);
  draw_view_summary(scene, fmt::format("{} of each model: sorted, they are {} apart on average.",
                                       counted(state.x.size(), "weight"), scientific(state.distance, 3)));
  draw_plot_header(scene, fmt::format("weights from seed {} above, from seed {} below", state.seed, state.seed + 1),
                   "sorted values are joined");
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const double low = std::min(state.x.front(), state.y.front()), high = std::max(state.x.back(), state.y.back());
  const float text = line_height(Face::small), margin = px(12);
  const HeapsRoom room{from.x + margin,           from.x + scene.width - margin, from.y, from.y + height - text - px(4), low,
                       std::max(high, low + 1e-9)};
  draw_heaps(state, room);
  offer_own_figure(scene, from, {from.x + scene.width, from.y + height});
  for (const auto& [value, align] : {std::pair{low, 0.0f}, {high, 1.0f}})
    draw_text({room.at(value), room.bottom + px(4)}, Face::small, colours().faint, scientific(value, 2), align);
  ImGui::Dummy({scene.width, height});
  wrapped(
      Face::small, colours().secondary,
      "Wasserstein-1 is the mean length of the lines. It sorts, so it does not show which weight moved; and it depends on the "
      "number of weights.",
      scene.width);
  return "";
}

}  // namespace attoscope::ui
