/// The recurrence of the traced row in a lesson: the strip's plots, and the step of the scrubbed tile.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "imgui.h"
#include "ui/frame/ui_state.h"
#include "ui/learn/views/views.h"
#include "ui/recurrence/recurrence.h"

namespace attoscope {

/// What they remember between frames.
struct RowPlots {
  StripState strip;
  Playback playback;
};

/// Fills `size`. The scrubbed tile and the hidden curves are the scene's `tile` and `hidden`; returns a sentence where these
/// are impossible. Where there is no recurrence, a sentence in its place says why.
std::string draw_row_plots(LessonScene& scene, RowPlots& state, const std::shared_ptr<const Result>& result,
                           std::span<const StripPlot> plots, ImVec2 size);

}  // namespace attoscope
