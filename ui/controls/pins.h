/// Experiments that were kept: made, restored, compared, as values.
#pragma once

#include <string>

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/session/session.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// The experiment with what its answer says of it, and a small picture of a - golden.
Pin make_pin(const Result& result);

/// Appends a pin of what is shown, or says in `state.complaint` why not.
void keep_pin(Session& session, const PanelInput& input, PinState& state);

/// The pin's experiment instead of the session's, seen whole.
void restore_pin(Session& session, int index);

/// Method a of the pin as b of the session. Returns one sentence where they do not answer the same question.
std::string compare_with_pin(Session& session, int index);

/// The list of pins.
void draw_pins(Session& session, const PanelInput& input, UiState& state, const Palette& colours, Requests& requests);

}  // namespace attoscope
