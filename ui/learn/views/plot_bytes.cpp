// Bytes between HBM and the chip over N or M; and the double loop that moves them, moved by a slider.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "implot.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"
#include "ui/learn/views/view_parts.h"
#include "ui/statistics/traffic.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

/// Bytes between HBM and the chip along an axis.
struct BytesState {
  Experiment experiment{};
  std::string_view over;  ///< the quantity on the x axis; empty: none yet
  int M = 0;              ///< that the tiles were made for; 0: they are the experiment's
  std::vector<double> x;
  std::array<std::vector<double>, 3> bytes;  ///< Algorithm 0, FA-1, FA-2
};

struct LoopState {
  LoopPicture picture;
};

/// The x axis of the curves, in powers of two.
struct SizeAxis {
  std::string_view name;
  int first, last;  ///< exponents
  const char* title;
};
constexpr std::array<SizeAxis, 2> overs{{{"n", 6, 16, "N, tokens"}, {"M", 10, 20, "M, elements on chip"}}};

/// The experiment where the axis is at `value`. M, where it is given, sets the tiles as FlashAttention's rule does.
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

/// Positions and texts of an axis' ticks.
struct Ticks {
  std::vector<double> at;
  std::vector<std::string> texts;

  void add(double value, std::string text) { at.push_back(value), texts.push_back(std::move(text)); }
  std::vector<const char*> labels() const {
    std::vector<const char*> list;
    for (const std::string& text : texts) list.push_back(text.c_str());
    return list;
  }
};

/// Returns the names of the curves.
std::vector<EndLabel> draw_curves(const BytesState& state, const TrafficOfAll& now, double value) {
  for (std::size_t i = 0; i < now.size(); ++i)
    ImPlot::PlotLine(now[i].name, state.x.data(), state.bytes[i].data(), static_cast<int>(state.x.size()),
                     stroke(traffic_colour(now[i]), 2));
  const ImVec2 from = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  ImDrawList* list = ImPlot::GetPlotDrawList();
  const float x = ImPlot::PlotToPixels(value, now[0].bytes).x;
  if (x >= from.x && x <= from.x + size.x)
    list->AddLine({x, from.y}, {x, from.y + size.y}, faded(colours().accent, 0.6f), px(1.4f));
  std::vector<EndLabel> names;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (x >= from.x && x <= from.x + size.x)
      list->AddCircleFilled({x, ImPlot::PlotToPixels(value, now[i].bytes).y}, px(4), traffic_colour(now[i]));
    names.push_back({ImPlot::PlotToPixels(state.x.back(), state.bytes[i].back()).y, now[i].name, traffic_colour(now[i])});
  }
  return names;
}

void draw_plot(const LessonScene& scene, const BytesState& state, const TrafficOfAll& now, double value, float height) {
  Ticks across, up;
  for (std::size_t i = 0; i < state.x.size(); i += 2) across.add(state.x[i], fmt::format("{:.0f}", state.x[i]));
  double low = state.bytes[0][0], high = low;
  for (const auto& curve : state.bytes)
    for (const double b : curve) low = std::min(low, b), high = std::max(high, b);
  for (double decade = std::pow(10.0, std::ceil(std::log10(low / 1.5))); decade <= high * 1.5; decade *= 10)
    up.add(decade, bytes_text(decade));
  const auto across_labels = across.labels(), up_labels = up.labels();
  const PlotFrame frame{"##bytes", state.x.front(), state.x.back(), low / 1.5, high * 1.5, true,
                        across.at, up.at,           across_labels,  up_labels, true};
  if (!begin_plot(frame, {scene.width - px(96), height})) return;
  const std::vector<EndLabel> names = draw_curves(state, now, value);
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  end_plot();
  draw_end_labels(names, at.x + size.x + px(8), px(88), at.y, at.y + size.y);
}

std::string summary(const SizeAxis& over, int value, const TrafficOfAll& all) {
  return fmt::format("At {} = {}: Algorithm 0 moves {}, FA-1 {}, FA-2 {}: {} of Algorithm 0's.", over.name == "n" ? "N" : "M",
                     value, bytes_text(all[0].bytes), bytes_text(all[1].bytes), bytes_text(all[2].bytes),
                     times(all[2].bytes / all[0].bytes));
}

constexpr int farthest = 1 << 20;  ///< step that a session may name; beyond the end is the end

}  // namespace

std::string draw_bytes_plot(LessonScene& scene, float height) {
  auto& state = own_state<BytesState>(scene);
  const std::string wanted = value_of(scene, "over", "n");
  std::string problem = unknown_word("over", {wanted}, std::array{overs[0].name, overs[1].name});
  int M = whole_of(scene, "memory", wanted == "M" ? 24576 : 0, 0, 1 << 30, problem);
  if (!problem.empty()) return problem;
  const SizeAxis& over = *std::ranges::find(overs, wanted, &SizeAxis::name);
  if (!is_on_page(scene) && (wanted == "M" || M > 0)) {
    const WithWidth half(std::min(scene.width, px(400)));
    if (slider({"M", 1 << overs[1].first, 1 << overs[1].last, 1, 1 << 30, true}, M)) change(scene, "memory", std::to_string(M));
    explain("The number of elements that fit on chip: FlashAttention's rule then makes the tiles as large as possible.",
            "Bc = ceil(M / 4d), Br = min(Bc, d)");
  }
  const int value = wanted == "M" ? M : scene.experiment.problem.n;
  refresh(state, scene.experiment, over, M);
  const TrafficOfAll now = traffic_of_all(at(scene.experiment, over, value, M));
  draw_view_summary(scene, colours().secondary, summary(over, value, now));
  draw_plot_head(scene, "Bytes between HBM and chip", "over " + std::string(over.title));
  draw_plot(scene, state, now, value, height);
  ImGui::Dummy({0, px(4)});
  const WithWidth all(scene.width);
  draw_traffic_lines(now);
  return "";
}

std::string draw_loop_plot(LessonScene& scene, float height) {
  auto& state = own_state<LoopState>(scene);
  std::string problem;
  const int wanted = whole_of(scene, "at", 0, 0, farthest, problem);
  if (!problem.empty()) return problem;
  refresh_loop(state.picture, scene.experiment, loop_order(scene.experiment.a.algorithm));
  const int last = std::max(0, static_cast<int>(state.picture.steps.size()) - 1), shown = shown_step(scene, wanted, last),
            start = std::clamp(to_number<int>(written(scene.view, "at")).value_or(0), 0, last);
  int at = stepped(scene, shown, start, last);
  if (at != shown) change(scene, "at", std::to_string(at));
  draw_view_summary(scene, colours().secondary, loop_sentence(state.picture, at));
  const ImVec2 from = ImGui::GetCursorScreenPos();
  draw_loop_picture(state.picture, at, from, {scene.width, height});
  take_room(from, {scene.width, height});
  if (is_on_page(scene)) return "";
  draw_speed(scene);
  bool plays = scene.stepping.playing == scene.view.index;
  const bool played = plays;
  double never = std::numeric_limits<double>::infinity();  // `stepped` takes the steps
  if (draw_loop_transport(state.picture, at, plays, never, scene.width - px(speed_width + 8)))
    change(scene, "at", std::to_string(at));
  if (plays != played) play_or_pause(scene, at, last);
  return "";
}

}  // namespace attoscope
