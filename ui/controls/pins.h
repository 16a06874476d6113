/// Kept experiments: made, restored, compared, as values.
#pragma once

#include <string>

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/session/session.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// Pin of a result: experiment, errors, digests, and a small picture of a - golden.
Pin make_pin(const Result& result);

/// Appends a pin of the answer on screen, or says in `state.complaint` why it cannot.
void keep_pin(Session& session, const PanelInput& input, PinState& state);

/// Restores the pin's experiment, and shows all of the picture.
void restore_pin(Session& session, int index);

/// Makes method a of the pin method b of the session. Returns one sentence if their questions differ.
std::string compare_with_pin(Session& session, int index);

/// The list of pins.
void draw_pins(Session& session, const PanelInput& input, UiState& state, Requests& requests);

}  // namespace attoscope
