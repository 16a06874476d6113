// Bytes between HBM and the chip over N or M; and the double loop that moves them, stepped by a slider.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "implot.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"
#include "ui/learn/views/view_parts.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/panel_plot.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

/// Bytes between HBM and the chip along an axis.
struct BytesState {
  Experiment experiment{};
  std::string_view over;  ///< the quantity on the x axis; empty: none yet
  int M = 0;              ///< the tiles were made for it; 0: they are the experiment's
  std::vector<double> x;
  std::array<std::vector<double>, 3> bytes;  ///< Algorithm 0, FA-1, FA-2
};

/// The x axis of the curves, in powers of two.
struct SizeAxis {
  std::string_view name;
  int first, last;  ///< exponents
  const char* title;
};
constexpr std::array<SizeAxis, 2> overs{{{"n", 6, 16, "N, tokens"}, {"M", 10, 20, "M, elements on chip"}}};

/// The experiment with the axis at `value`. M > 0 sets the tiles by FlashAttention's rule.
Experiment at(Experiment e, const SizeAxis& over, int value, int M) {
  (over.name == "n" ? e.problem.n : M) = value;
  return M > 0 ? with_tiles(e, tiles_for_memory(M, e.problem.d)) : e;
}

void refresh(BytesState& state, const Experiment& e, const SizeAxis& over, int M) {
  const int fixed_M = over.name == "M" ? 0 : M;  // along M itself the curves are the same for every M
  if (state.over == over.name && state.M == fixed_M && state.experiment == e) return;
  state = {e, over.name, fixed_M, {}, {}};
  for (int k = over.first; k <= over.last; ++k) {
    const Traffic t = traffic(at(e, over, 1 << k, M));
    state.x.push_back(std::ldexp(1.0, k));
    for (std::size_t i = 0; const double bytes : {t.algorithm0, t.flash1, t.flash2}) state.bytes[i++].push_back(bytes);
  }
}

/// The curves over the axis.
FigurePanel bytes_panel_over(const BytesState& state, const SizeAxis& over, const TrafficOfAll& now) {
  FigurePanel p;
  p.x = {.label = over.title, .log = true, .base = 2};
  p.y = {.label = "bytes between HBM and chip", .log = true, .unit = "B"};
  constexpr std::array shapes{Ink::four, Ink::two, Ink::one};
  for (std::size_t i = 0; i < now.size(); ++i)
    p.series.push_back(
        series_of(now[i].name, now[i].ink == Ink::golden ? shapes[i] : now[i].ink, Shape::line, state.x, state.bytes[i]));
  return p;
}

/// The axis and M of a scene.
struct AskedBytes {
  const SizeAxis* over = nullptr;
  int M = 0;
};
AskedBytes asked_bytes(const LessonScene& scene, std::string& problem) {
  const std::string wanted = value_of(scene, "over", "n");
  problem = unknown_word("over", {wanted}, std::array{overs[0].name, overs[1].name});
  const bool over_M = wanted == "M";
  const int M = whole_of(scene, "memory", over_M ? 24576 : 0, over_M ? 1 : 0, 1 << 30, problem);
  return {std::ranges::find(overs, wanted, &SizeAxis::name), M};
}

void draw_plot(const LessonScene& scene, const BytesState& state, const SizeAxis& over, const TrafficOfAll& now, double value,
               float height) {
  const FigurePanel panel = bytes_panel_over(state, over, now);
  PanelLook look{.id = "##bytes", .label_width = px(96)};
  for (const Series& s : panel.series) look.label_width = std::max(look.label_width, text_width(Face::mono, s.label) + px(10));
  look.label = [](const Series& s) { return s.label; };
  look.above = [&] {
    draw_vertical(value, faded(colours().accent, 0.6f), 1.4f);
    for (std::size_t i = 0; i < now.size(); ++i)
      ImPlot::GetPlotDrawList()->AddCircleFilled(ImPlot::PlotToPixels(value, now[i].bytes), px(4),
                                                 ink_colour(panel.series[i].ink));
  };
  draw_panel(panel, look, {scene.width, height});
}

std::string summary(const SizeAxis& over, int value, const TrafficOfAll& all) {
  return fmt::format("At {} = {}: Algorithm 0 moves {}, FA-1 {}, FA-2 {}: {} of Algorithm 0's.", over.name == "n" ? "N" : "M",
                     value, bytes_text(all[0].bytes), bytes_text(all[1].bytes), bytes_text(all[2].bytes),
                     times(all[2].bytes / all[0].bytes));
}

constexpr int farthest = 1 << 20;  ///< largest step that a session may name; a step beyond the end is the end

}  // namespace

std::vector<FigurePanel> bytes_panels(const LessonScene& scene, std::string& problem) {
  const AskedBytes asked = asked_bytes(scene, problem);
  if (!problem.empty()) return {};
  BytesState state;
  refresh(state, scene.experiment, *asked.over, asked.M);
  const int value = asked.over->name == "M" ? asked.M : scene.experiment.problem.n;
  return {bytes_panel_over(state, *asked.over, traffic_of_all(at(scene.experiment, *asked.over, value, asked.M)))};
}

std::string draw_bytes_plot(LessonScene& scene, float height) {
  auto& state = own_state<BytesState>(scene);
  std::string problem;
  auto [axis, M] = asked_bytes(scene, problem);
  if (!problem.empty()) return problem;
  const SizeAxis& over = *axis;
  if (!is_on_page(scene) && (over.name == "M" || M > 0)) {
    const WithWidth half(std::min(scene.width, px(400)));
    if (slider({"M", 1 << overs[1].first, 1 << overs[1].last, 1, 1 << 30, true}, M)) change(scene, "memory", std::to_string(M));
    explain("The number of elements that fit on chip: FlashAttention's rule then makes the tiles as large as possible.",
            "Bc = ceil(M / 4d), Br = min(Bc, d)");
  }
  const int value = over.name == "M" ? M : scene.experiment.problem.n;
  refresh(state, scene.experiment, over, M);
  const TrafficOfAll now = traffic_of_all(at(scene.experiment, over, value, M));
  draw_view_summary(scene, summary(over, value, now));
  const ImVec2 from = ImGui::GetCursorScreenPos();
  draw_plot_header(scene, "Bytes between HBM and chip", "over " + std::string(over.title));
  draw_plot(scene, state, over, now, value, height);
  offer_own_figure(scene, from, {from.x + scene.width, ImGui::GetCursorScreenPos().y});
  ImGui::Dummy({0, px(4)});
  const WithWidth all(scene.width);
  draw_traffic_lines(now);
  return "";
}

std::vector<FigurePanel> loop_panels(const LessonScene& scene, std::string& problem) {
  LoopPicture picture;
  refresh_loop(picture, scene.experiment);
  const int wanted = whole_of(scene, "at", 0, 0, farthest, problem);
  if (!problem.empty()) return {};
  if (picture.steps.empty()) {
    problem = loop_sentence(picture, 0);
    problem.pop_back();  // its full stop
    return {};
  }
  return loop_figure(picture, std::min(wanted, static_cast<int>(picture.steps.size()) - 1));
}

std::string draw_loop_plot(LessonScene& scene, float height) {
  auto& picture = own_state<LoopPicture>(scene);
  std::string problem;
  const int wanted = whole_of(scene, "at", 0, 0, farthest, problem);
  if (!problem.empty()) return problem;
  refresh_loop(picture, scene.experiment);
  const int last = std::max(0, static_cast<int>(picture.steps.size()) - 1), shown = shown_step(scene, wanted, last),
            start = std::clamp(to_number<int>(written(scene.view, "at")).value_or(0), 0, last);
  int at = stepped(scene, shown, start, last);
  if (at != shown) change(scene, "at", std::to_string(at));
  draw_view_summary(scene, loop_sentence(picture, at));
  const ImVec2 from = ImGui::GetCursorScreenPos();
  draw_loop_picture(picture, at, from, {scene.width, height});
  take_room(from, {scene.width, height});
  if (is_on_page(scene)) return "";
  offer_own_figure(scene, from, {from.x + scene.width, from.y + height});
  draw_speed(scene);
  bool plays = scene.stepping.playing == scene.view.index;
  const bool played = plays;
  if (draw_loop_transport(picture, at, plays, scene.width - px(speed_width + 8))) change(scene, "at", std::to_string(at));
  if (plays != played) play_or_pause(scene, at, last);
  return "";
}

}  // namespace attoscope::ui
