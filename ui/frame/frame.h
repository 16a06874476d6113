/// One frame of the window, as a panel sees it.
#pragma once

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/session/session.h"

namespace attoscope::ui {

/// A panel shows `input`, edits `session`, keeps data for the next frame in `state`, and writes to `requests`. Colours,
/// fonts and scale of the window: `colours()`, `fonts()`, `px()`.
struct Frame {
  Session& session;
  const PanelInput& input;
  UiState& state;
  Requests& requests;
};

}  // namespace attoscope::ui
