// The Explore workspace: its panels, docked.
#include "ui/explore.h"

#include <array>
#include <string>
#include <utility>

#include "ui/controls/controls.h"
#include "ui/frame/loaded_output.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/picture/heatmap_view.h"
#include "ui/picture/pictures.h"
#include "ui/recurrence/recurrence.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/judged_heads.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

/// Draws a panel; false if it is a tab behind another.
template <class Draw>
bool panel(const char* name, ImGuiWindowFlags flags, Draw draw) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {px(12), px(8)});
  const bool open = ImGui::Begin(
      name, nullptr, flags | ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoFocusOnAppearing);
  ImGui::PopStyleVar();
  if (open) draw();
  ImGui::End();
  return open;
}

/// A part of the screen.
struct Part {
  ImVec2 min, max;
};
Part rest_of_panel() {
  const ImVec2 at = ImGui::GetCursorScreenPos(), size = ImGui::GetContentRegionAvail();
  return {at, {at.x + size.x, at.y + size.y}};
}

/// A save button for each plot of the strip, and one at its foot for all.
void keep_strip(View& view, const Result& result, const Part& strip, float plots_width, Requests& requests) {
  constexpr std::array<std::pair<Plot, const char*>, 5> plots{{{Plot::running_max, "running max"},
                                                               {Plot::rescales, "rescales"},
                                                               {Plot::row_sum, "row sum"},
                                                               {Plot::largest_P, "largest P"},
                                                               {Plot::error, "error"}}};
  const bool shows_P = (view.hidden_curves & bit(Curve::P_max)) == 0;
  const int count = shows_P ? 5 : 4;
  const float step = (plots_width + px(16)) / static_cast<float>(count), foot = strip.max.y - px(44);
  const auto csv = [&] { return recurrence_csv(result); };
  for (int i = 0; i < count; ++i) {
    const auto& [plot, name] = plots[static_cast<std::size_t>(!shows_P && i == 3 ? 4 : i)];
    const float left = strip.min.x + static_cast<float>(i) * step;
    offer_export({plot, name, {left, strip.min.y}, {left + step - px(16), foot}, csv}, view, requests);
  }
  offer_export({Plot::strip, "recurrence", {strip.max.x - px(48), foot}, strip.max, csv, true}, view, requests);
}

/// Requests the verdict on a loaded output and on the other heads of its call.
void ask_for_verdicts(const Session& session, const PanelInput& input, const UiState& state, Requests& requests) {
  if (!input.answer.result || !has_loaded(input.answer.result->experiment)) return;
  const Experiment question = verdict_question(session.experiment);
  if (shown_verdict(input) == nullptr) requests.side.verdict = question;
  if (has_several_outputs(session.experiment, input.choices) && !judging_stopped(state.heads, session.experiment))
    requests.side.judged = heads_of_file(question);
}

/// A save button for the verdicts on all heads, or for the KV cache table.
void keep_heads(Session& session, const PanelInput& input, const HeadsState& heads, const Part& all, Requests& requests) {
  const TensorFileInfo& info = input.choices.tensors;
  if (session.view.heads_show == HeadsShow::verdict && has_several_outputs(session.experiment, input.choices))
    return offer_export(
        {Plot::window, "verdicts", all.min, all.max,
         [&] { return verdict_grid_csv(found_of(input.side.judged, verdict_question(session.experiment)), info); }},
        session.view, requests);
  const bool on_show = session.view.heads_show == HeadsShow::kv_cache && info.file == session.experiment.problem.input.file &&
                       input.side.kv && heads.kv.found == input.side.kv->rows && !heads.kv.shown.empty();
  if (!on_show) return;
  offer_export({Plot::window, "KV cache", all.min, all.max, [&] { return csv_text(shown_kv_table(heads, info)); }},
               session.view, requests);
}

/// The panel of pins, in front of the controls if they overlap.
void draw_pins_panel(Session& session, const PanelInput& input, UiState& state, Requests& requests) {
  const bool shown = session.view.show_pins, appears = shown && !std::exchange(state.pins.shown, shown);
  state.pins.shown = shown;
  if (!shown) return;
  if (appears && state.docked.pins == PinPlace::tab) ImGui::SetNextWindowFocus();
  panel(pins_window, ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse,
        [&] { draw_pins(session, input, state, requests); });
}

}  // namespace

void draw_explore(Session& session, const PanelInput& input, UiState& state, Requests& requests) {
  const ImGuiWindowFlags still = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  if (state.popups.kernel.wanted_for + state.popups.file.wanted_for > 0) ImGui::SetNextWindowFocus();  // its tab may be hidden
  panel(controls_window, 0, [&] { draw_controls(session, input, state, requests); });
  draw_pins_panel(session, input, state, requests);
  requests.wanted.wasserstein = panel(statistics_window, still, [&] { draw_statistics(session, input, state, requests); });
  panel(heatmap_window, still, [&] {
    const Part all = rest_of_panel();
    draw_heatmap(session, input, state, requests);
    if (session.view.picture == PictureKind::heads) return keep_heads(session, input, state.heads, all, requests);
    if (!input.answer.result) return;
    const auto csv = [&] { return picture_csv(session.view, input, state.heat); };
    const bool has_field = session.view.picture == PictureKind::output;
    offer_export({Plot::heat_map, "heat map", all.min, all.max, csv, true, has_field}, session.view, requests);
  });
  const bool follows = panel(recurrence_window, still, [&] {
    const Part all = rest_of_panel();
    const float plots_width = draw_recurrence(session, input, state, requests);
    const std::shared_ptr<const Result> followed = recurrence_answer(input);
    if (followed && !followed->trace.tiles.empty()) keep_strip(session.view, *followed, all, plots_width, requests);
  });
  requests.wanted.trace = follows || session.view.picture != PictureKind::output || session.view.detail == Detail::traffic;
  draw_cell_sum(session, input, state, requests);
  ask_for_verdicts(session, input, state, requests);
}

namespace {

void draw_picture(Session& session, const PanelInput& input, UiState& all, Requests& requests, const Box& room) {
  switch (session.view.picture) {
    case PictureKind::output:
      return draw_output(session, input, all, requests, room);
    case PictureKind::rescales:
      return draw_rescale_map(session, input, all, requests, room);
    case PictureKind::scores:
      return draw_scores(session, input, all, requests, room);
    case PictureKind::heads:
      return draw_heads(session, input, all, requests, room);
  }
}

/// True while a slider or a button is held, but not while text is typed.
bool moves_control() { return ImGui::IsAnyItemActive() && !ImGui::GetIO().WantTextInput; }

}  // namespace

void draw_heatmap(Session& session, const PanelInput& input, UiState& all, Requests& requests) {
  refresh_values(all.heat, input.answer.result, session.view.field);
  all.ranges.held = moves_control();
  if (all.docked.narrow && draw_headline(input)) ImGui::SetWindowFocus(statistics_window);
  draw_toolbar(session, input, all);
  draw_welcome(session);
  draw_probe_sentence(session, input, all);
  const ImVec2 from = ImGui::GetCursorScreenPos(), size = ImGui::GetContentRegionAvail();
  draw_picture(session, input, all, requests, {from, {from.x + size.x, from.y + size.y}});
  note_ranges(all, session.view);
}

}  // namespace attoscope
