// Plots: the recurrence of a row, traffic, sweeps, rounding as a staircase, exp and the limits of formats.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "ui/learn/views/view_parts.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

/// Draws a plot; returns a sentence if a key is invalid.
using DrawPlot = std::string(LessonScene& scene, float height);
/// The panels of a plot that only lessons have; sets `problem` if a key is invalid.
using PlotPanels = std::vector<FigurePanel>(const LessonScene& scene, std::string& problem);

// each in the file of its plot
DrawPlot draw_sweep_plot, draw_losses_plot, draw_bytes_plot, draw_loop_plot, draw_staircase, draw_exp_plot, draw_heaps_plot;
PlotPanels bytes_panels, loop_panels, sweep_panels, staircase_panels, exp_panels, heaps_panels;

namespace {

std::string said_of_trace(const Result& r) {
  if (r.trace.tiles.empty()) return fmt::format("Row {} sees no key.", r.trace.row);
  const TraceTile& last = r.trace.tiles.back();
  const auto moves = std::ranges::count_if(r.trace.tiles, &TraceTile::moved);
  return fmt::format("Row {}, {}: m moved {} and ends at {:.4g}; l ends at {:.6g}; the largest error is {}.", r.trace.row,
                     counted(r.trace.tiles.size(), "tile"), counted(moves, "time"), last.max_used, last.l,
                     scientific(last.error));
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
      "m moved {:.2f} times a row on average; in random order H_T − 1 = {:.2f}; a move at every later tile: {:.2f}.",
      r.rescales.effective_mean, r.rescales.expected, r.rescales.nominal);
}

/// The row's plots under a sentence.
std::string draw_row_kind(LessonScene& scene, float height, std::initializer_list<Plot> plots,
                          std::string (*summary)(const Result&)) {
  const auto result = answered(scene, {scene.width, height + px(32)});
  if (!result) return "";
  const ImVec2 from = ImGui::GetCursorScreenPos();
  draw_view_summary(scene, summary(*result));
  const std::string problem =
      draw_row_plots(scene, own_state<RowPlots>(scene), result, {plots.begin(), plots.size()}, {scene.width, height});
  dim_if_earlier(scene, *result, from, {from.x + scene.width, ImGui::GetCursorScreenPos().y});
  return problem;
}

/// A kind of plot, and its panels if only lessons have it.
struct PlotKind {
  std::string_view name;
  DrawPlot* draw;
  PlotPanels* panels = nullptr;
};
constexpr std::array<PlotKind, 10> kinds{{
    {"trace",
     [](LessonScene& scene, float height) {
       return draw_row_kind(scene, height, {Plot::running_max, Plot::row_sum, Plot::error}, said_of_trace);
     }},
    {"error", [](LessonScene& scene, float height) { return draw_row_kind(scene, height, {Plot::error}, said_of_error); }},
    {"rescales",
     [](LessonScene& scene, float height) { return draw_row_kind(scene, height, {Plot::rescales}, said_of_rescales); }},
    {"bytes", draw_bytes_plot, bytes_panels},
    {"loop", draw_loop_plot, loop_panels},
    {"sweep", draw_sweep_plot, sweep_panels},
    {"losses", draw_losses_plot},
    {"staircase", draw_staircase, staircase_panels},
    {"exp", draw_exp_plot, exp_panels},
    {"heaps", draw_heaps_plot, heaps_panels},
}};

constexpr int all_curves = 2 * static_cast<int>(bit(Curve::b_error)) - 1;

/// Lines of the worked step on a page.
constexpr int worked_lines = 4;

/// The shaded tile and its worked step, without a scrubber.
void draw_shaded(const View& view, const Result& r, ImVec2 at, float width) {
  const int index = scrubbed(r, view);
  const auto& tiles = r.trace.tiles;
  draw_text(at, Face::label, colours().secondary,
            fmt::format("The shaded tile, {} (0 to {}):", tiles[static_cast<std::size_t>(index)].tile, tiles.back().tile));
  draw_worked(r, index, {at.x, at.y + px(22)}, width, worked_lines);
}

/// Draws save buttons of the plots, which are side by side.
void offer_row_figures(LessonScene& scene, const View& view, std::span<const Plot> plots, ImVec2 at, ImVec2 size) {
  const float gap = px(16), step = (size.x + gap) / static_cast<float>(plots.size());
  for (std::size_t i = 0; i < plots.size(); ++i) {
    const float left = at.x + static_cast<float>(i) * step;
    offer_figure(scene, plots[i], std::string(plot_names[plots[i]]), {left, at.y}, {left + step - gap, at.y + size.y}, [&] {
      Session s;
      s.experiment = scene.experiment;
      s.view.hidden_curves = view.hidden_curves;
      return s;
    });
  }
}

/// The plots, the scrubber, the worked step of its tile.
void draw_strip(LessonScene& scene, View& view, RowPlots& state, std::span<const Plot> plots, ImVec2 size) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Result& r = *state.strip.result;
  const bool on_page = is_on_page(scene);
  const float foot = on_page ? px(22 + 18 * worked_lines) : scrubber_height(size.x), plots_height = size.y - foot - px(8);
  draw_recurrence_plots(view, state.strip, plots, {size.x, plots_height});
  offer_row_figures(scene, view, plots, at, {size.x, plots_height});
  const ImVec2 below{at.x, at.y + size.y - foot};
  if (on_page)
    draw_shaded(view, r, below, size.x);
  else
    draw_scrubber(view, state.playback, r, below, {size.x, foot});
  take_room(at, size);
}

/// Calls f with the scene of a plot of these keys, without a page.
template <class F>
auto with_scene(const Experiment& experiment, const std::vector<LessonParameter>& keys, const PanelInput& input, F f) {
  LessonView view{
      .kind = LessonViewKind::plot, .parameters = keys, .line = 0, .index = 0, .experiment = experiment, .problem = {}};
  LessonViewEdits edits;
  LessonViewState state;
  Requests requests;
  Stepping stepping;
  View window;
  return f(LessonScene{view, edits, state, experiment, input, requests, 0, 0, stepping, window});
}

}  // namespace

void draw_plot_header(const LessonScene& scene, std::string_view title, std::string_view unit) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy({scene.width, px(18)});
  const float used = draw_fitted(at, Face::label, colours().text, title, scene.width);
  if (used + px(16) + text_width(Face::small, unit) < scene.width)
    draw_text({at.x + scene.width, at.y + px(1)}, Face::small, colours().faint, unit, 1);
}

std::string draw_plot_view(LessonScene& scene) {
  const std::string kind(written(scene.view, "kind"));
  std::array<std::string_view, kinds.size()> names;
  std::ranges::transform(kinds, names.begin(), &PlotKind::name);
  std::string problem = unknown_word("kind", {kind}, names);
  const float wanted = px(static_cast<float>(whole_of(scene, "height", 288, 160, 1000, problem)));
  const float height = flexible_height(scene, wanted, px(160));
  if (problem.empty()) problem = draw_lesson_controls(scene);
  return problem.empty() ? std::ranges::find(kinds, kind, &PlotKind::name)->draw(scene, height) : problem;
}

std::vector<FigurePanel> lesson_panels(const Experiment& experiment, const std::vector<LessonParameter>& keys,
                                       const LessonAnswerPtr& answer) {
  PanelInput input;
  if (answer) input.learn.answers = std::make_shared<const LessonAnswers>(LessonAnswers{answer});
  return with_scene(experiment, keys, input, [](const LessonScene& scene) {
    const std::string kind = value_of(scene, "kind");
    const auto* const own = std::ranges::find(kinds, kind, &PlotKind::name);
    const bool known = own != kinds.end() && own->panels != nullptr;
    std::string problem = known ? "" : refusal("kind", kind, "bytes, loop, staircase, exp, heaps or sweep");
    std::vector<FigurePanel> panels;
    if (problem.empty()) panels = own->panels(scene, problem);
    if (!problem.empty()) throw std::invalid_argument("The plot of a lesson cannot be drawn: " + problem + ".");
    return panels;
  });
}

std::optional<LessonQuestion> lesson_question(const Experiment& experiment, std::string_view kind,
                                              const std::vector<LessonParameter>& keys) {
  if (kind != "sweep") return std::nullopt;
  return with_scene(experiment, keys, PanelInput{}, [](const LessonScene& scene) {
    std::string problem;
    const LessonQuestion question = sweep_question(scene, problem);
    return problem.empty() ? std::optional(question) : std::nullopt;
  });
}

std::string draw_row_plots(LessonScene& scene, RowPlots& state, const std::shared_ptr<const Result>& result,
                           std::span<const Plot> plots, ImVec2 size) {
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
    draw_instead(size, why);
    return "";
  }
  const View before = view;
  const StripSteps tiles(result.get());
  const int shown = scrubbed(tiles, view), last = tiles.count() - 1, at = stepped(scene, shown, last, last);
  if (at != shown) scrub(view, tiles, at - shown);
  const bool played = state.playback.playing = scene.stepping.playing == scene.view.index;
  draw_strip(scene, view, state, plots, size);
  if (state.playback.playing != played) play_or_pause(scene, scrubbed(tiles, view), last);
  if (view.scrubbed_tile != before.scrubbed_tile) change(scene, "tile", std::to_string(view.scrubbed_tile));
  if (view.hidden_curves != before.hidden_curves) change(scene, "hidden", std::to_string(view.hidden_curves));
  return "";
}

}  // namespace attoscope::ui
