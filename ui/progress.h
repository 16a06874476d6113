/// How far the answer is that is on its way.
#pragma once

#include "ui/theme.h"
#include "ui/ui.h"

namespace attoscope {

/// Work that takes no longer than this shows no progress, in seconds.
inline constexpr double shown_after = 0.5;

/// Width of `draw_progress` at UI scale 1.
inline constexpr float progress_width = 312;

/// A bar, the time left and a button that stops the work, in a line of `height`; nothing where work takes no longer than
/// `shown_after`. Always as wide as told.
void draw_progress(const Frame& frame, const Palette& colours, float height, Wishes& wishes);

}  // namespace attoscope
