/// Panels with a fixed place in their workspace.
#pragma once

#include <functional>

#include "imgui.h"
#include "ui/picture/colour_bar.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// A window without a title that fills the box.
void panel(const char* name, const Box& box, ImGuiWindowFlags flags, const std::function<void()>& draw);
/// Lines of one pixel at the left of a panel, and at its top if it is below another panel.
void draw_edges(const Box& box, bool top);

}  // namespace attoscope
