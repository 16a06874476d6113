// A measure along one or two parameters: curves over numbers, a line of dots for each name.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "imgui.h"
#include "implot.h"
#include "ui/learn/views/plots.h"
#include "ui/picture/picture_frame.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

/// The answer as it is drawn: `across` along the first axis, a curve for each value of the second.
struct SweepPlot {
  const LessonAnswer& answer;
  const Palette& colours;
  std::size_t across = 0, curves = 1;
  double low = 0, high = 1;  ///< the ends of the measure's axis
  bool log = false;
  Colour colour = 0;  ///< of the measure

  const LessonAxis& axis() const { return answer.axes[0]; }
  const LessonPoint& point(std::size_t i, std::size_t curve) const { return answer.points[i * curves + curve]; }
  /// A curve's shade: the first is the strongest.
  Colour shade(std::size_t curve) const {
    return curves == 1 ? colour : mixed(colour, colours.panel, 0.7f * static_cast<float>(curve) / static_cast<float>(curves));
  }
};

/// The measure's colour: a's, b's, or that of what it counts.
Colour measure_colour(std::string_view measure, const Palette& colours) {
  if (measure.starts_with("b.")) return colours.b;
  if (measure.ends_with("rescales")) return colours.moved;
  return colours.a;
}

/// The axis of the measure: from 0, or logarithmic where all are positive and far apart.
void set_range(SweepPlot& s) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const LessonPoint& p : s.answer.points) {
    if (!std::isfinite(p.mean)) continue;
    const double spread = std::isfinite(p.spread) ? p.spread : 0;
    least = std::min(least, p.mean - spread > 0 ? p.mean - spread : p.mean);
    most = std::max(most, p.mean + spread);
  }
  if (!(least <= most)) return;
  s.log = least > 0 && most > 8 * least;
  s.low = s.log ? least / 1.3 : std::min(0.0, least * 1.1);
  s.high = s.log ? most * 1.3 : most > 0 ? most * 1.1 : least < 0 ? 0 : 1;
}

SweepPlot plot_of(const LessonAnswer& answer, const Palette& colours) {
  SweepPlot s{answer, colours};
  s.curves = answer.axes.size() > 1 ? answer.axes[1].values.size() : 1;
  s.across = answer.axes[0].values.size();
  s.colour = measure_colour(answer.question.measure, colours);
  set_range(s);
  return s;
}

/// Three digits: plainly from 0.01 to 9999, else with a power of ten.
std::string three_digits(double x) {
  return std::abs(x) >= 0.01 && std::abs(x) < 9999.5 ? fmt::format("{:.3g}", x) : scientific(x);
}

std::string spread_text(const LessonPoint& p, int seeds) {
  const std::string spread =
      std::abs(p.spread) >= 0.01 && std::abs(p.spread) < 99.5 ? fmt::format("{:.2g}", p.spread) : scientific(p.spread, 2);
  return three_digits(p.mean) + (seeds > 1 && std::isfinite(p.spread) ? " ± " + spread : "");
}

/// The same after the curve's name, where there are several.
std::string curve_text(const SweepPlot& s, std::size_t i, std::size_t curve) {
  std::string text = s.curves > 1 ? s.answer.axes[1].values[curve] : "";
  return text.append(s.curves > 1 ? "  " : "").append(spread_text(s.point(i, curve), s.answer.question.seeds));
}

/// True where the numbers grow by a factor rather than by a step.
bool is_geometric(const std::vector<double>& x) {
  return x.size() > 2 && x.front() > 0 && x.back() >= 8 * x.front() && x[1] - x[0] < 0.9 * (x.back() - x[x.size() - 2]);
}

/// The finite points of a curve with their spread.
struct SweepCurve {
  std::vector<double> x, y, low, high;
};
SweepCurve curve_of(const SweepPlot& s, std::size_t curve) {
  SweepCurve c;
  for (std::size_t i = 0; i < s.across; ++i) {
    const LessonPoint& p = s.point(i, curve);
    if (!std::isfinite(p.mean)) continue;
    const double spread = std::isfinite(p.spread) ? p.spread : 0;
    c.x.push_back(s.axis().numbers[i]);
    c.y.push_back(p.mean);
    c.low.push_back(std::max(p.mean - spread, s.low));
    c.high.push_back(p.mean + spread);
  }
  return c;
}

/// The measure at the number nearest to the mouse.
void read_numbers(const SweepPlot& s) {
  const ImVec2 mouse = ImGui::GetMousePos(), from = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  std::size_t nearest = 0;
  const auto distance = [&](std::size_t i) { return std::abs(ImPlot::PlotToPixels(s.axis().numbers[i], s.high).x - mouse.x); };
  for (std::size_t i = 1; i < s.across; ++i)
    if (distance(i) < distance(nearest)) nearest = i;
  const float x = ImPlot::PlotToPixels(s.axis().numbers[nearest], s.high).x;
  ImGui::GetWindowDrawList()->AddLine({x, from.y}, {x, from.y + size.y}, faded(s.colours.accent, 0.6f));
  std::vector<NoteLine> lines{{s.colours.secondary, s.axis().title + " " + s.axis().values[nearest]}};
  for (std::size_t k = 0; k < s.curves; ++k) lines.push_back({s.shade(k), curve_text(s, nearest, k)});
  draw_note({from, {from.x + size.x, from.y + size.y}}, {x, mouse.y}, lines, s.colours);
}

/// The places of the values whose labels stand clear of each other on an axis so wide; the first one is among them.
std::vector<std::size_t> labelled(const LessonAxis& axis, bool log_x, float width) {
  const auto [least, most] = std::ranges::minmax(axis.numbers);
  const auto at = [&](double x) {
    const double share = most == least ? 0
                         : log_x       ? std::log(x / least) / std::log(most / least)
                                       : (x - least) / (most - least);
    return static_cast<float>(share) * width;
  };
  std::vector<std::size_t> places;
  float end = 0;  // of the last label
  for (std::size_t i = 0; i < axis.numbers.size(); ++i) {
    const float half = text_width(Face::mono_small, axis.values[i]) / 2, middle = at(axis.numbers[i]);
    if (!places.empty() && middle - half < end + px(10)) continue;
    places.push_back(i);
    end = middle + half;
  }
  return places;
}

void draw_curves(const LessonScene& scene, const SweepPlot& s, float height) {
  const std::vector<double>& x = s.axis().numbers;
  const auto [least, most] = std::ranges::minmax(x);
  const bool log_x = is_geometric(x);
  const double margin = x.size() == 1 ? 1 : 0.03 * (most - least);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::SetNextItemAllowOverlap();
  ImGui::InvisibleButton("sweep", {scene.width, height});
  const bool over = ImGui::IsItemHovered();
  ImGui::SetCursorScreenPos(at);
  const float names = s.curves > 1 ? px(88) : 0, width = scene.width - names;
  std::vector<double> ticks;
  std::vector<const char*> labels;
  for (const std::size_t i : labelled(s.axis(), log_x, 0.85f * width))
    ticks.push_back(x[i]), labels.push_back(s.axis().values[i].c_str());
  const std::vector<double> up = s.log ? fine_decades(s.low, s.high) : std::vector<double>{};
  const PlotFrame frame{"##sweep",
                        log_x ? least / 1.1 : least - margin,
                        log_x ? most * 1.1 : most + margin,
                        s.low,
                        s.high,
                        s.log,
                        ticks,
                        up,
                        labels,
                        {},
                        log_x};
  if (!begin_plot(frame, {width, height})) return;
  std::vector<CurveName> ends;
  for (std::size_t k = 0; k < s.curves; ++k) {
    const SweepCurve c = curve_of(s, k);
    const int count = static_cast<int>(c.x.size());
    const std::string id = "##curve" + std::to_string(k);
    if (s.answer.question.seeds > 1)
      ImPlot::PlotShaded((id + " spread").c_str(), c.x.data(), c.low.data(), c.high.data(), count, fill(s.shade(k), 0.18f));
    ImPlot::PlotLine(id.c_str(), c.x.data(), c.y.data(), count, stroke(s.shade(k), 1.8f));
    ImPlot::PlotScatter((id + " points").c_str(), c.x.data(), c.y.data(), count, dots(s.shade(k), 3, true));
    if (s.curves > 1 && count > 0) ends.push_back({c.y.back(), s.shade(k), s.answer.axes[1].values[k]});
  }
  draw_curve_names(std::move(ends), names);
  if (over) read_numbers(s);
  end_plot();
}

/// The x coordinate of a value of the measure on a row.
float place(const SweepPlot& s, double value, float left, float right) {
  const double t = s.log ? std::log(value / s.low) / std::log(s.high / s.low) : (value - s.low) / (s.high - s.low);
  return left + static_cast<float>(std::clamp(t, 0.0, 1.0)) * (right - left);
}

/// One name: the bar of its only curve, or a dot for each.
void draw_row(const SweepPlot& s, std::size_t i, ImVec2 at, float left, float right, float height) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float y = at.y + height / 2;
  list->AddLine({left, y}, {right, y}, faded(s.colours.line, 0.7f));
  for (std::size_t k = 0; k < s.curves; ++k) {
    const LessonPoint& p = s.point(i, k);
    if (!std::isfinite(p.mean)) continue;
    const float x = place(s, p.mean, left, right);
    if (s.curves == 1) list->AddRectFilled({left, y - px(5)}, {x, y + px(5)}, s.colour, px(2));
    if (p.spread > 0)
      list->AddLine({place(s, std::max(p.mean - p.spread, s.low), left, right), y},
                    {place(s, p.mean + p.spread, left, right), y}, s.colours.text, px(1.4f));
    if (s.curves > 1) list->AddCircleFilled({x, y}, px(4.5f), s.shade(k));
  }
}

/// Values of the measure that are labelled under the rows: powers of ten, or between them; 0 and quarters of a linear axis.
std::vector<double> row_ticks(const SweepPlot& s) {
  std::vector<double> ticks;
  if (!s.log) {
    for (int i = 0; i <= 4; ++i) ticks.push_back(s.low + (s.high - s.low) * i / 4);
    return ticks;
  }
  if (std::vector<double> fine = fine_decades(s.low, s.high); !fine.empty()) return fine;
  for (double decade = std::pow(10.0, std::ceil(std::log10(s.low))); decade <= s.high; decade *= 10) ticks.push_back(decade);
  return ticks;
}

/// The axis of the measure under the rows that begin at `top`.
void draw_row_axis(const SweepPlot& s, float top, float left, float right) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float foot = ImGui::GetCursorScreenPos().y;
  ImGui::Dummy({right - left, px(20)});
  float end = left - px(100);  // of the last label
  for (const double tick : row_ticks(s)) {
    const float x = std::floor(place(s, tick, left, right)) + 0.5f;
    list->AddLine({x, top}, {x, foot}, faded(s.colours.line, 0.6f));
    const std::string words = tick == 0 ? "0" : s.log ? scientific(tick, 1) : three_digits(tick);
    const float half = text_width(Face::mono_small, words) / 2, middle = std::min(x, right - half);
    if (middle - half < end + px(8)) continue;
    draw_text({middle, foot + px(3)}, Face::mono_small, s.colours.faint, words, 0.5f);
    end = middle + half;
  }
}

/// The legend: a dot for each value of the second parameter.
void draw_row_legend(const SweepPlot& s, float width) {
  const LessonAxis& axis = s.answer.axes[1];
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy({width, px(20)});
  const float y = at.y + px(2), middle = y + line_height(Face::small) / 2;
  float x = at.x + draw_text({at.x, y}, Face::small, s.colours.secondary, axis.title) + px(14);
  for (std::size_t k = 0; k < s.curves && x < at.x + width - px(40); ++k) {
    ImGui::GetWindowDrawList()->AddCircleFilled({x, middle}, px(4.5f), s.shade(k));
    x += px(9) + draw_text({x + px(9), y}, Face::small, s.colours.secondary, axis.values[k]) + px(18);
  }
}

void draw_rows(const LessonScene& scene, const SweepPlot& s, float height) {
  if (s.curves > 1) draw_row_legend(s, scene.width);
  float names = 0;
  for (const std::string& v : s.axis().values) names = std::max(names, text_width(Face::mono, v));
  names = std::min(names + px(16), scene.width * 0.35f);
  const float row = std::clamp(std::floor(height / static_cast<float>(s.across)), px(20), px(32));
  const float numbers = s.curves == 1 ? text_width(Face::mono, "-0.00e-00 ± 0.0e-00") + px(16) : 0;
  const ImVec2 first = ImGui::GetCursorScreenPos();
  for (std::size_t i = 0; i < s.across; ++i) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const std::string& value = s.axis().values[i];
    ImGui::InvisibleButton(value.c_str(), {scene.width, row});
    std::string all;
    for (std::size_t k = 0; k < s.curves; ++k) all.append(k == 0 ? "" : "\n").append(curve_text(s, i, k));
    explain(s.axis().title + " " + value + ": " + s.answer.title + ".", all);
    const float y = at.y + (row - line_height(Face::mono)) / 2;
    draw_text({at.x, y}, Face::mono, scene.colours.text, fitted(Face::mono, value, names - px(8)));
    draw_row(s, i, at, at.x + names, at.x + scene.width - numbers, row);
    if (s.curves == 1)
      draw_text({at.x + scene.width, y}, Face::mono, std::isfinite(s.point(i, 0).mean) ? scene.colours.text : scene.colours.bad,
                spread_text(s.point(i, 0), s.answer.question.seeds), 1);
  }
  if (s.curves > 1) draw_row_axis(s, first.y, first.x + names, first.x + scene.width - numbers);
}

/// A sentence with the least and the greatest mean, and their places.
std::string said(const SweepPlot& s) {
  const LessonPoint *least = nullptr, *most = nullptr;
  int lost = 0;
  for (const LessonPoint& p : s.answer.points) {
    lost += !std::isfinite(p.mean);
    if (!std::isfinite(p.mean)) continue;
    if (least == nullptr || p.mean < least->mean) least = &p;
    if (most == nullptr || p.mean > most->mean) most = &p;
  }
  if (least == nullptr) return "No point has a finite value: every number is NaN or infinite.";
  const auto where = [&](const LessonPoint* p) {
    const auto i = static_cast<std::size_t>(p - s.answer.points.data());
    return s.axis().key + " " + s.axis().values[i / s.curves] +
           (s.curves > 1 ? ", " + s.answer.axes[1].key + " " + s.answer.axes[1].values[i % s.curves] : "");
  };
  std::string text = "least " + three_digits(least->mean) + " at " + where(least) + ", greatest " + three_digits(most->mean) +
                     " at " + where(most);
  if (lost > 0) text += fmt::format("; {} points are not finite", lost);
  return text + (s.answer.question.seeds > 1 ? fmt::format("; {} seeds, ± standard deviation", s.answer.question.seeds) : "");
}

/// The answer to a question as curves or rows.
void draw_answer(LessonScene& scene, const LessonQuestion& question, float height) {
  const LessonAnswerPtr answer = ask(scene, question);
  if (!answer || !answer->problem.empty() || answer->axes.empty() || answer->points.empty()) {
    draw_instead(scene, {scene.width, height}, !answer ? "computing" : answer->problem.empty() ? "no answer" : answer->problem);
    return;
  }
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const SweepPlot s = plot_of(*answer, scene.colours);
  draw_said(scene, scene.colours.secondary, said(s));
  draw_plot_head(scene, answer->title, "over " + s.axis().title);
  s.axis().numeric ? draw_curves(scene, s, height) : draw_rows(scene, s, height);
  if (!(answer->question == question))
    ImGui::GetWindowDrawList()->AddRectFilled(from, {from.x + scene.width, ImGui::GetCursorScreenPos().y},
                                              faded(scene.colours.panel, 0.35f));
}

}  // namespace

std::string draw_losses_plot(LessonScene& scene, float height) {
  draw_answer(scene, {.experiment = scene.experiment, .measure = "train.spike.losses", .vary = {}, .seeds = 1}, height);
  return "";
}

std::string draw_sweep_plot(LessonScene& scene, float height) {
  std::string problem;
  LessonQuestion question{
      .experiment = scene.experiment, .measure = value_of(scene, "measure", "a.mean_abs"), .vary = {}, .seeds = 1};
  question.seeds = whole_of(scene, "seeds", 1, 1, 100, problem);
  for (const char* key : {"vary", "vary2"})
    if (const std::string text = value_of(scene, key); !text.empty()) question.vary.push_back(text);
  if (question.vary.empty()) problem = refusal("vary", "", "KEY=VALUES, such as block_k=16:1024:x2 or format=bf16,fp16");
  if (!problem.empty()) return problem;
  draw_answer(scene, question, height);
  return "";
}

}  // namespace attoscope
