/// Panels that stand where their workspace puts them.
#pragma once

#include <functional>

#include "imgui.h"
#include "ui/picture/colour_bar.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// A window without title that fills the box.
void panel(const char* name, const Box& box, ImGuiWindowFlags flags, const std::function<void()>& draw);
/// One-pixel lines at the left and, where it lies below another panel, at the top of a panel.
void draw_edges(const Box& box, const Palette& colours, bool top);

}  // namespace attoscope
