/// One step of a lesson on screen: text beside its view, or one below the other.
#pragma once

#include "imgui.h"
#include "ui/learn/learn_memory.h"
#include "ui/learn/lesson_steps.h"
#include "ui/theme.h"
#include "ui/ui.h"

namespace attoscope {

/// Draws the step that `place` names into `size` at the cursor. Returns how many pixels of its height are scrolled out of view.
float draw_page(Session& session, const LessonPlace& place, const Frame& frame, LearnMemory& memory, const Palette& colours,
                Wishes& wishes, ImVec2 size);

}  // namespace attoscope
