/// Names and purposes of the workspaces.
#pragma once

#include <array>

#include "ui/session/session.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

/// The tabs of the top bar, in the order of `Workspace`.
inline constexpr std::array workspaces{
    Choice{"Explore", "Drag any control and see, element by element and tile by tile, how far attention is from the truth."},
    Choice{"Sweep",
           "Vary one or two parameters over seeds, watch the points appear, open any of them in Explore, export the figure."},
    Choice{"Train",
           "Two copies of a small transformer learn the same text, one with each method: how far their weights drift apart, "
           "and what that means."},
    Choice{"Learn", "Lessons about the recurrence with its real numbers: every view runs the kernel."},
};
static_assert(workspaces.size() == workspace_names.size());

}  // namespace attoscope
