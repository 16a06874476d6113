/// The whole window as a function of values: it reads a PanelInput, edits a Session and returns Requests.
#pragma once

#include <memory>

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/session/session.h"

namespace attoscope::ui {

/// State of the panels between frames that is not saved. Owned by the app, used only by ui/.
struct UiState;
struct UiStateDeleter {
  void operator()(UiState*) const;
};
using UiStatePtr = std::unique_ptr<UiState, UiStateDeleter>;
UiStatePtr make_ui_state();

/// Draws the whole window in the current ImGui frame. Call `apply_theme` before the frame.
Requests draw_ui(Session& session, const PanelInput& input, UiState& state);

}  // namespace attoscope::ui
