/// The algorithms as a student writes them, each line tied to what it does.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "imgui.h"
#include "kernels/questions/stepper.h"
#include "ui/widgets/theme.h"

namespace attoscope {

struct CodeLine {
  std::string_view text;           ///< with its indent
  std::optional<StepKind> kind{};  ///< that it does; none: a line of the loop
  int pass = -1;                   ///< a loop over the scores: which
};
/// Of the four algorithms that the stepper knows; empty for others.
std::span<const CodeLine> pseudo_code(Algorithm algorithm);
/// "safe softmax, three passes".
std::string_view code_title(Algorithm algorithm);

/// The line that runs, and the loop that it runs in.
struct Running {
  StepKind kind{};
  int pass = 0;
};
/// The algorithm in a box, `running` lit; takes its room in the layout.
void draw_pseudo_code(Algorithm algorithm, std::optional<Running> running, float width, const Palette& colours);
/// The room that it needs, at least.
ImVec2 pseudo_code_size(Algorithm algorithm);

}  // namespace attoscope
