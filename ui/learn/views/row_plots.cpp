#include <fmt/format.h>

#include <string>

#include "ui/learn/views/plots.h"
#include "ui/learn/views/view_parts.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

constexpr int all_curves = 2 * static_cast<int>(bit(Curve::b_error)) - 1;

/// Lines of the worked step on a page.
constexpr int worked_lines = 4;

/// The shaded tile and its worked step, without a scrubber.
void draw_shaded(const View& view, const Result& r, ImVec2 at, float width) {
  const int index = scrubbed(r, view);
  const auto& tiles = r.trace.tiles;
  draw_text(at, Face::label, colours().secondary,
            fmt::format("The shaded tile, {} of {}:", tiles[static_cast<std::size_t>(index)].tile, tiles.back().tile));
  draw_worked(r, index, {at.x, at.y + px(22)}, width, worked_lines);
}

/// The plots, the scrubber, the worked step of its tile.
void draw_strip(const LessonScene& scene, View& view, RowPlots& state, std::span<const StripPlot> plots, ImVec2 size) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Result& r = *state.strip.result;
  const bool on_page = is_on_page(scene);
  const float foot = on_page ? px(22 + 18 * worked_lines) : scrubber_height(size.x), plots_height = size.y - foot - px(8);
  draw_recurrence_plots(view, state.strip, plots, {size.x, plots_height});
  const ImVec2 below{at.x, at.y + size.y - foot};
  if (on_page)
    draw_shaded(view, r, below, size.x);
  else
    draw_scrubber(view, state.playback, r, below, {size.x, foot});
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy(size);
}

}  // namespace

std::string draw_row_plots(LessonScene& scene, RowPlots& state, const std::shared_ptr<const Result>& result,
                           std::span<const StripPlot> plots, ImVec2 size) {
  std::string problem;
  View view;
  view.scrubbed_tile = whole_of(scene, "tile", view.scrubbed_tile, -1, max_n, problem);
  view.hidden_curves =
      static_cast<unsigned>(whole_of(scene, "hidden", static_cast<int>(view.hidden_curves), 0, all_curves, problem));
  if (!problem.empty()) return problem;
  refresh_strip(state.strip, result, view.hidden_curves);
  PanelInput of_result;
  of_result.answer.result = result;
  const std::string why = why_no_recurrence(of_result);
  if (!why.empty()) {
    draw_instead(scene, size, why);
    return "";
  }
  const View before = view;
  scene.requests.animate |= advance(state.playback, view, result.get(), ImGui::GetTime());
  draw_strip(scene, view, state, plots, size);
  if (view.scrubbed_tile != before.scrubbed_tile) change(scene, "tile", std::to_string(view.scrubbed_tile));
  if (view.hidden_curves != before.hidden_curves) change(scene, "hidden", std::to_string(view.hidden_curves));
  return "";
}

}  // namespace attoscope
