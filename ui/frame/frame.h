/// One frame of the window, as a panel sees it.
#pragma once

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/session/session.h"

namespace attoscope::ui {

/// A panel shows `input`, edits `session`, keeps in `state` what it needs in the next frame, and asks by `requests`. Colours,
/// fonts and scale are those of the window: `colours()`, `fonts()`, `px()`.
struct Frame {
  Session& session;
  const PanelInput& input;
  UiState& state;
  Requests& requests;
};

}  // namespace attoscope::ui
