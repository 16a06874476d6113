/// The algorithms as a student writes them, drawn.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "imgui.h"
#include "kernels/questions/stepper.h"
#include "ui/frame/pseudo_code.h"  // IWYU pragma: export
#include "ui/widgets/theme.h"

namespace attoscope {

/// `pseudo_code` of the row's algorithm with what its method does with scales.
std::vector<CodeLine> pseudo_code(const Steps& row);

/// The line that runs, and the loop that it runs in.
struct Running {
  StepKind kind{};
  int pass = 0;
};
/// The lines in a box, `running` lit; takes its room in the layout.
void draw_pseudo_code(std::span<const CodeLine> lines, std::optional<Running> running, float width);
/// The room that they need, at least.
ImVec2 pseudo_code_size(std::span<const CodeLine> lines);

}  // namespace attoscope
