// Histogram of the signed errors in ulps; |error| over |golden|, compared with half an ulp of the format.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/result.h"
#include "ui/picture/heatmap_view.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

/// Smallest share of elements in the histogram of ulps.
constexpr double least_share = 1e-6;

/// Histogram bins per drawn bin. Outputs are doubles, so errors in ulps of fp64 are whole numbers, and quarter-ulp bins would
/// alternate between full and empty.
int bins_together(const Format& f) {
  constexpr int finest = std::numeric_limits<double>::digits - 1 - 2;  // mantissa bits up to which a double holds a quarter ulp
  return std::min(UlpHistogram::per_ulp, 1 << std::max(0, f.mantissa_bits - finest));
}

/// Shares of the elements in drawn bins of `together` histogram bins each, centred on possible errors.
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

/// Size of the grid of cells; each cell keeps one point, is about two pixels wide, and there are few enough for every frame.
constexpr int columns = 128, lines = 78;

/// An approximation of log2 that is linear between powers of two: monotonic and fast.
double about_log2(double x) { return static_cast<double>(bit_as<std::int64_t>(x)) * 0x1p-52 - 1023; }

/// Range of a logarithmic axis, divided into cells; low and high are about_log2.
struct Span {
  double low = -10, high = 0;
  int cells = 1;
  double cells_per_octave = 0.1;
  /// Index of x's cell; the nearest one for x outside.
  int cell(double x) const {
    const int index = static_cast<int>((about_log2(x) - low) * cells_per_octave);
    return index < 0 ? 0 : index >= cells ? cells - 1 : index;
  }
};

/// Largest of the numbers taken, and the number of samples in each octave.
class Octaves {
 public:
  void sample(double x) { ++counts_[static_cast<std::size_t>(bit_as<std::uint64_t>(x) >> 52)]; }
  void take(double x) { most_ = most_ < x ? x : most_; }
  /// Range from the octave at the lowest thousandth of the samples to the largest number.
  Span span(int cells) const {
    if (!(most_ > 0)) return {.cells = cells};
    const std::int64_t all = std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
    std::size_t octave = 0;
    for (std::int64_t below = counts_[0]; below * 1000 <= all && octave + 1 < counts_.size(); below += counts_[octave])
      ++octave;
    const double high = about_log2(most_) + 1e-6, low = std::min(static_cast<double>(octave) - 1023, high - 10);
    return {low, high, cells, cells / (high - low)};
  }

 private:
  std::array<std::int64_t, 2048> counts_{};
  double most_ = 0;
};

/// True if magnitude and error are positive and finite.
bool is_point(double magnitude, double error) {
  constexpr double beyond = std::numeric_limits<double>::infinity();
  return (error > 0) & (error < beyond) & (magnitude > 0) & (magnitude < beyond);
}

/// Elements [first, end) of a matrix.
struct Part {
  std::size_t first, end;
};

void take_octaves(const Matrix& golden, const Matrix& x, const Part& part, Octaves& magnitudes, Octaves& errors) {
  constexpr std::size_t every = 8;
  double most_g[every] = {}, most_e[every] = {};
  for (std::size_t first = part.first; first < part.end; first += every) {
    const double *gs = golden.values.data() + first, *xs = x.values.data() + first;
    const std::size_t count = std::min(every, part.end - first);
    const auto take = [&](std::size_t i) {
      const double g = std::abs(gs[i]), e = std::abs(xs[i] - gs[i]);
      const bool point = is_point(g, e);
      const double shown_g = point ? g : 0, shown_e = point ? e : 0;
      most_g[i] = most_g[i] < shown_g ? shown_g : most_g[i];
      most_e[i] = most_e[i] < shown_e ? shown_e : most_e[i];
    };
    if (count == every)
      for (std::size_t i = 0; i < every; ++i) take(i);
    else
      for (std::size_t i = 0; i < count; ++i) take(i);
    const double g = std::abs(gs[0]), e = std::abs(xs[0] - gs[0]);
    if (is_point(g, e)) {
      magnitudes.sample(g);
      errors.sample(e);
    }
  }
  for (const double g : most_g) magnitudes.take(g);
  for (const double e : most_e) errors.take(e);
}

/// The element with the largest error in each cell.
class WorstOfCells {
 public:
  void take(const Matrix& golden, const Matrix& x, const Part& part, const Span& magnitudes, const Span& errors,
            std::int64_t& exact) {
    for (std::size_t i = part.first; i < part.end; ++i) {
      const double g = std::abs(golden.values[i]), e = std::abs(x.values[i] - golden.values[i]);
      exact += e == 0;
      if (!is_point(g, e)) continue;
      Worst& cell = worst_[static_cast<std::size_t>(errors.cell(e) * columns + magnitudes.cell(g))];
      if (e > cell.error) cell = {e, g};
    }
  }
  Series dots(std::string label, Ink ink) const {
    const auto seven_digits = [](double x) { return std::pow(10.0, double{static_cast<float>(std::log10(x))}); };
    Series s = series_of(std::move(label), ink, Shape::dots);
    for (const Worst& w : worst_)
      if (w.error > 0) {
        s.x.push_back(seven_digits(w.magnitude));
        s.y.push_back(seven_digits(w.error));
      }
    return s;
  }

 private:
  struct Worst {
    double error = 0, magnitude = 0;
  };
  std::vector<Worst> worst_{static_cast<std::size_t>(columns * lines)};
};

}  // namespace

/// Progress of four passes over the elements: ranges of a and of b, then points of a and of b.
struct ScatterWork {
  ScatterPoints found;
  int pass = 0;
  std::size_t at = 0;  ///< next element of the pass
  Octaves of_magnitudes, of_errors;
  Span magnitudes, errors;
  WorstOfCells a, b;
};

namespace {

void take(ScatterWork& w, const Part& part) {
  const Matrix& golden = *w.found.result->golden;
  const bool of_a = w.pass % 2 == 0;
  const Matrix& x = of_a ? w.found.result->a : w.found.result->b;
  if (w.pass < 2) return take_octaves(golden, x, part, w.of_magnitudes, w.of_errors);
  (of_a ? w.a : w.b).take(golden, x, part, w.magnitudes, w.errors, of_a ? w.found.a_exact : w.found.b_exact);
}

void set_axes(ScatterWork& w) {
  w.magnitudes = w.of_magnitudes.span(columns);
  w.errors = w.of_errors.span(lines);
  const auto axis = [](std::string label, const Span& octaves) {
    constexpr double log10_2 = 0x1.34413509f79ffp-2;
    const double high = std::min(307.0, std::ceil((octaves.high + 0.1) * log10_2 * 2) / 2),
                 low = std::max(-307.0, std::floor(octaves.low * log10_2 * 2) / 2);
    FigureAxis shown = number_axis(std::move(label), true);
    shown.min = std::pow(10.0, low < high ? low : high - 3);
    shown.max = std::pow(10.0, high);
    return shown;
  };
  w.found.panel.x = axis("|golden|", w.magnitudes);
  w.found.panel.y = axis("|error|", w.errors);
}

/// Half an ulp of the format over the magnitudes [low, high], with a step at every power of two.
Series half_ulp(const Format& format, double low, double high) {
  constexpr std::size_t most = 512;
  Series s = series_of("½ ulp of " + name(format), Ink::text, Shape::line);
  for (double x = std::exp2(std::floor(std::log2(low))); x < high && s.x.size() < 2 * most; x *= 2) {
    const double half = ulp(format, x) / 2;
    if (!(half > 0)) continue;
    s.x.insert(s.x.end(), {x, 2 * x});
    s.y.insert(s.y.end(), {half, half});
  }
  return s;
}

/// Processes at most `elements` more elements; true after all four passes.
bool finish(ScatterWork& w, std::size_t elements) {
  constexpr int passes = 4;
  constexpr std::size_t sampled = 8;  // sampling interval of take_octaves; parts are multiples of it
  const std::size_t size = w.found.result->golden->values.size();
  while (w.pass < passes && elements > 0) {
    const std::size_t count = elements < size - w.at ? elements - elements % sampled : size - w.at;
    if (count == 0 && w.at < size) break;
    take(w, {w.at, w.at + count});
    w.at += count;
    elements -= count;
    if (w.at < size) continue;
    w.at = 0;
    if (++w.pass == 2) set_axes(w);
  }
  if (w.pass < passes) return false;
  FigurePanel& p = w.found.panel;
  const Experiment& e = w.found.result->experiment;
  const MethodNames names = method_names(e);
  p.series = {w.b.dots(names.b_after_a, Ink::b), w.a.dots(names.a, Ink::a), half_ulp(e.format, *p.x.min, *p.x.max)};
  return true;
}

/// Points of a series in screen coordinates.
std::vector<ImVec2> on_screen(const Series& s) {
  const ImPlotRect limits = ImPlot::GetPlotLimits();
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  const double left = std::log10(limits.X.Min), right = std::log10(limits.X.Max), low = std::log10(limits.Y.Min),
               high = std::log10(limits.Y.Max);
  std::vector<ImVec2> points;
  for (std::size_t i = 0; i < s.x.size(); ++i)
    points.push_back({at.x + static_cast<float>((std::log10(s.x[i]) - left) / (right - left)) * size.x,
                      at.y + static_cast<float>((high - std::log10(s.y[i])) / (high - low)) * size.y});
  return points;
}

void draw_dots(ImDrawList* list, const Series& s, Colour colour) {
  const float side = px(1.6f);
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  list->PrimReserve(static_cast<int>(s.x.size()) * 6, static_cast<int>(s.x.size()) * 4);
  for (const ImVec2& p : on_screen(s)) {
    const float x = std::clamp(p.x, at.x, at.x + size.x - side), y = std::clamp(p.y, at.y, at.y + size.y - side);
    list->PrimRect({x, y}, {x + side, y + side}, colour);
  }
}

/// Title of the plot, and at the right the legend of its line.
void draw_title(ImVec2 at, float width, const ShownTensor& shown) {
  const Format& format = shown.result->experiment.format;
  const float used = draw_text({at.x, at.y + px(7)}, Face::label, colours().text, about_tensor(shown, "|error| over |golden|"));
  const std::string words = "½ ulp of " + name(format);
  const float left = at.x + width - text_width(Face::small, words), y = at.y + px(8) + line_height(Face::small) / 2;
  if (left - px(24) < at.x + used + px(8)) return;
  draw_text({left, at.y + px(8)}, Face::small, colours().secondary, words);
  ImGui::GetWindowDrawList()->AddLine({left - px(20), y}, {left - px(4), y}, colours().text, px(1.2f));
}

}  // namespace

FigurePanel ulps_panel(const Result& r) {
  const MethodNames names = method_names(r.experiment);
  FigurePanel p;
  const double reach = UlpHistogram::reach + 1.0 / UlpHistogram::per_ulp;
  p.x = {.label = "signed error in ulps of " + name(r.experiment.format), .min = -reach, .max = reach};
  p.y = {.label = "share of elements", .log = true, .min = least_share, .max = 1.2};
  const int together = bins_together(r.experiment.format);
  p.series = {shares_of(names.b_after_a, Ink::b, r.b_error.ulps, together),
              shares_of(names.a, Ink::a, r.a_error.ulps, together)};
  return p;
}

void draw_histogram(const ShownTensor& shown) {
  const Result& r = *shown.result;
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float title = px(detail_title), height = std::min(room.y - title - px(4), px(280));
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
  for (const Series& s : p.series)  // clamped: the axis is logarithmic and has no 0
    draw_clamped_steps(s.ink == Ink::a ? "##a" : "##b", s, least_share / 2, 1,
                       stroke(s.ink == Ink::a ? colours().a : colours().b), s.x[1] - s.x[0]);
  end_plot();
}

std::string_view why_no_points(const ScatterPoints& scatter) {
  const auto has_dots = [](const Series& s) { return s.shape == Shape::dots && !s.x.empty(); };
  if (std::ranges::any_of(scatter.panel.series, has_dots)) return "";
  return scatter.a_exact + scatter.b_exact > 0 ? "All finite values are exact." : "Every error is NaN or infinite.";
}

bool refresh_scatter(ScatterState& state, const std::shared_ptr<const Result>& result, std::size_t elements) {
  if (!result || !result->golden) {
    state = ScatterState{};
    return false;
  }
  if (!state.work && state.result == result) return false;
  const bool first = state.result == nullptr;
  if (!state.work) {
    state.work = std::make_shared<ScatterWork>();
    state.work->found.result = result;
  }
  if (!finish(*state.work, first ? std::numeric_limits<std::size_t>::max() : elements)) return true;
  static_cast<ScatterPoints&>(state) = std::move(state.work->found);
  state.work.reset();
  return state.result != result;
}

void draw_scatter(ScatterState& state, const ShownTensor& shown, Requests& requests) {
  constexpr std::size_t in_a_frame = 3 << 16;  // takes 1 to 2 ms
  requests.animate |= refresh_scatter(state, shown.result, in_a_frame);
  const ImVec2 room = ImGui::GetContentRegionAvail(), at = ImGui::GetCursorScreenPos();
  const float title = px(detail_title), height = std::min(room.y - title - px(4), px(280));
  if (height < px(48)) return;
  ImGui::Dummy({room.x, title});
  explain(
      "Every element: how large it is, and how far a (and b) is off. Where several elements fall on one point, the largest "
      "error is shown. If only the output is rounded, all lie below the line.",
      "|x - golden| over |golden|\nwithout any error: a " + std::to_string(state.a_exact) + ", b " +
          std::to_string(state.b_exact));
  draw_title(at, room.x, shown);
  const FigurePanel& p = state.panel;
  PlotFrame frame{
      "##scatter", p.x.min.value_or(1e-3), p.x.max.value_or(10), p.y.min.value_or(1e-6), p.y.max.value_or(1), true, {}, {}, {},
      {}};
  frame.log_x = true;
  if (!begin_plot(frame, {room.x, height})) return;
  ImDrawList* list = ImPlot::GetPlotDrawList();
  ImPlot::PushPlotClipRect();
  for (const Series& s : p.series) {
    if (s.shape == Shape::dots) {
      draw_dots(list, s, faded(s.ink == Ink::a ? colours().a : colours().b, 0.8f));
      continue;
    }
    const std::vector<ImVec2> corners = on_screen(s);
    list->AddPolyline(corners.data(), static_cast<int>(corners.size()), colours().text, 0, px(1.2f));
  }
  const ImVec2 plot = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  const std::string why = fitted(Face::label, why_no_points(state), size.x - px(8));
  draw_text(list, {plot.x + size.x / 2, plot.y + size.y / 2 - line_height(Face::label)}, Face::label, colours().secondary, why,
            0.5f);
  ImPlot::PopPlotClipRect();
  end_plot();
}

}  // namespace attoscope::ui
