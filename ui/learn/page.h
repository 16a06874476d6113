/// One step of a lesson on screen: text beside its view, or one below the other.
#pragma once

#include "imgui.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/learn/learn_state.h"
#include "ui/learn/lesson_steps.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// Draws the step that `place` names into `size` at the cursor. Returns how many pixels of its height are scrolled out of view.
float draw_page(Session& session, const LessonPlace& place, const PanelInput& input, LearnState& state, const Palette& colours,
                Requests& requests, ImVec2 size);

}  // namespace attoscope
