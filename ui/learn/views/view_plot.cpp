// Plots: the recurrence of a row, traffic, sweeps, rounding as a staircase, exp and the limits of formats.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ui/learn/views/plots.h"
#include "ui/learn/views/views.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope {

struct PlotViewState {
  RowPlots row;
  BytesState bytes;
  LoopState loop;
  SweepPlotState sweep;
  HeapsState heaps;
};

void draw_plot_head(const LessonScene& scene, std::string_view title, std::string_view unit) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy({scene.width, px(18)});
  const float used = draw_text(at, Face::label, scene.colours.text, fitted(Face::label, title, scene.width));
  if (used + px(16) + text_width(Face::small, unit) < scene.width)
    draw_text({at.x + scene.width, at.y + px(1)}, Face::small, scene.colours.faint, unit, 1);
}

namespace {

/// The number of moves of m in the traced row.
int moves(const Result& r) {
  return static_cast<int>(std::ranges::count_if(r.trace.tiles, [](const TraceTile& t) { return t.moved; }));
}

std::string said_of_trace(const Result& r) {
  if (r.trace.tiles.empty()) return fmt::format("Row {} sees no key.", r.trace.row);
  const TraceTile& last = r.trace.tiles.back();
  return fmt::format("Row {}, {} tiles: m moved {} times and ends at {:.4g}; l ends at {:.6g}; the largest error is {}.",
                     r.trace.row, r.trace.tiles.size(), moves(r), last.max_used, last.l, scientific(last.error));
}

std::string said_of_error(const Result& r) {
  if (r.trace.tiles.empty()) return fmt::format("Row {} sees no key.", r.trace.row);
  const MethodNames names = method_names(r.experiment);
  const auto worst =
      std::ranges::max_element(r.trace.tiles, {}, [](const TraceTile& t) { return t.error == t.error ? t.error : 0; });
  return fmt::format("Row {} of {}: the largest error so far is greatest at tile {}, {}, and {} at the end.", r.trace.row,
                     names.a, worst->tile, scientific(worst->error), scientific(r.trace.tiles.back().error));
}

std::string said_of_rescales(const Result& r) {
  return fmt::format(
      "m moved {:.2f} times a row on average; in random order H_T − 1 = {:.2f}; every tile but the first would be {:.2f}.",
      r.rescales.effective_mean, r.rescales.expected, r.rescales.nominal);
}

/// A kind that shows the recurrence.
struct RowKind {
  std::string_view name;
  std::array<StripPlot, 3> plots;
  std::size_t count;
  std::string (*said)(const Result&);
};
constexpr std::array<RowKind, 3> row_kinds{{
    {"trace", {StripPlot::running_max, StripPlot::row_sum, StripPlot::error}, 3, said_of_trace},
    {"error", {StripPlot::error}, 1, said_of_error},
    {"rescales", {StripPlot::rescales}, 1, said_of_rescales},
}};

std::string draw_row_kind(LessonScene& scene, RowPlots& state, const RowKind& kind, float height) {
  const auto result = answered(scene, {scene.width, height + px(32)});
  if (!result) return "";
  const ImVec2 from = ImGui::GetCursorScreenPos();
  draw_said(scene, scene.colours.secondary, kind.said(*result));
  const std::string problem =
      draw_row_plots(scene, state, result, std::span(kind.plots).first(kind.count), {scene.width, height});
  dim_if_earlier(scene, *result, from, {from.x + scene.width, ImGui::GetCursorScreenPos().y});
  return problem;
}

constexpr std::array<std::string_view, 10> kinds{"trace", "error",  "rescales",  "bytes", "loop",
                                                 "sweep", "losses", "staircase", "exp",   "heaps"};

}  // namespace

std::string draw_plot_view(LessonScene& scene) {
  auto& state = own_state<PlotViewState>(scene);
  const std::string kind = value_of(scene, "kind");
  std::string problem = unknown_word("kind", {kind}, kinds);
  const float height = px(static_cast<float>(whole_of(scene, "height", 288, 160, 1000, problem)));
  if (problem.empty()) problem = draw_lesson_controls(scene);
  if (!problem.empty()) return problem;
  if (kind == "bytes") return draw_bytes_plot(scene, state.bytes, height);
  if (kind == "loop") return draw_loop_plot(scene, state.loop, height);
  if (kind == "sweep") return draw_sweep_plot(scene, state.sweep, height);
  if (kind == "losses") return draw_losses_plot(scene, state.sweep, height);
  if (kind == "staircase") return draw_staircase(scene, height);
  if (kind == "exp") return draw_exp_plot(scene, height);
  if (kind == "heaps") return draw_heaps_plot(scene, state.heaps, height);
  return draw_row_kind(scene, state.row, *std::ranges::find(row_kinds, kind, &RowKind::name), height);
}

}  // namespace attoscope
