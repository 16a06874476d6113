#include "ui/ui.h"

#include <algorithm>

#include "imgui.h"
#include "ui/commands/bars.h"
#include "ui/commands/keys.h"
#include "ui/explore.h"
#include "ui/frame/loaded_output.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/learn/learn_state.h"
#include "ui/learn/lesson_steps.h"
#include "ui/sweep/panels.h"
#include "ui/train/panels.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

void UiStateDeleter::operator()(UiState* state) const { delete state; }
UiStatePtr make_ui_state() { return UiStatePtr(new UiState); }

namespace {

/// Full-screen background window; it holds the dock space of Explore.
void draw_background(Session& session, UiState& state) {
  const ImGuiViewport* view = ImGui::GetMainViewport();
  const ImVec2 at{view->Pos.x, view->Pos.y + px(36)}, size{view->Size.x, std::max(px(80), view->Size.y - px(36) - px(26))};
  ImGui::SetNextWindowPos(at);
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::Begin("Explore", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoNavFocus |
                   ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar(3);
  dock_panels(at, size, session.view.panels, session.view.show_pins, state.docked);
  ImGui::End();
}

void draw_workspace(Session& session, const PanelInput& input, UiState& state, Requests& requests) {
  switch (session.view.workspace) {
    case Workspace::explore:
      draw_background(session, state);
      return draw_explore(session, input, state, requests);
    case Workspace::sweep:
      return draw_sweep(session, input, state, requests);
    case Workspace::train:
      return draw_train(session, input, state, requests);
    case Workspace::learn:
      return draw_learn(session, input, state, requests);
  }
}

}  // namespace

Requests draw_ui(Session& session, const PanelInput& input, UiState& state) {
  Requests requests;
  const bool busy = ImGui::IsAnyMouseDown() || ImGui::IsAnyItemActive() || state.playback.playing;
  state.history.observe(session, busy, ImGui::GetTime());
  const std::shared_ptr<const Result> followed = recurrence_answer(input);
  handle_keys({session, state, requests, followed.get(), input});
  draw_workspace(session, input, state, requests);
  if (!is_presenting(session)) {
    draw_top_bar(session, input, state, requests);
    draw_status_bar(session, input, requests);
  }
  draw_panel_focus();
  draw_palette(session, input, state, requests);
  draw_gallery(session, input, state, requests);
  draw_help(state.popups.help);
  draw_remarks(input, requests);
  return requests;
}

}  // namespace attoscope
