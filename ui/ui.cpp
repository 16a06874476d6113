#include "ui/ui.h"

#include "ui/commands/bars.h"
#include "ui/commands/commands.h"
#include "ui/explore.h"
#include "ui/learn/learn_state.h"
#include "ui/learn/lesson_steps.h"
#include "ui/model/panels.h"
#include "ui/sweep/panels.h"
#include "ui/train/panels.h"
#include "ui/widgets/path_prompt.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

void UiStateDeleter::operator()(UiState* state) const { delete state; }
UiStatePtr make_ui_state() { return UiStatePtr(new UiState); }

namespace {

constexpr EnumArray<Workspace, void (*)(const Frame&)> draw_workspace{draw_explore, draw_sweep, draw_train, draw_model,
                                                                      draw_learn};

}  // namespace

Requests draw_ui(Session& session, const PanelInput& input, UiState& state) {
  Requests requests;
  const bool busy = ImGui::IsAnyMouseDown() || ImGui::IsAnyItemActive() || state.playback.playing;
  state.history.observe(session, busy);
  const Frame frame{session, input, state, requests};
  ImGui::GetIO().ConfigInputTextCursorBlink = !session.view.reduced_motion;
  if (input.dragging) hold_files();
  handle_keys(frame);
  draw_workspace[session.view.workspace](frame);
  if (!is_presenting(session)) {
    draw_top_bar(frame);
    draw_status_bar(session, input, requests);
  }
  draw_panel_focus();
  draw_palette(frame);
  draw_gallery(frame);
  draw_questions(frame);
  draw_help(state.popups.help, session.view);
  draw_error(input, state.error);
  draw_drop_target(input);
  draw_remarks(input, requests);
  return requests;
}

}  // namespace attoscope::ui
