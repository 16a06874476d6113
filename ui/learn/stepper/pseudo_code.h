/// The algorithms as a student writes them, each line tied to what it does.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "imgui.h"
#include "kernels/questions/stepper.h"
#include "ui/widgets/theme.h"

namespace attoscope {

struct CodeLine {
  std::string text;                ///< with its indent
  std::optional<StepKind> kind{};  ///< that it does; none: a line of the loop
  int pass = -1;                   ///< a loop over the scores: which
};
/// Of the five algorithms that the stepper knows; empty for others.
std::vector<CodeLine> pseudo_code(Algorithm algorithm);
/// The same with what the row's method does with scales.
std::vector<CodeLine> pseudo_code(const Steps& row);
/// "safe softmax, three passes".
std::string_view code_title(Algorithm algorithm);

/// The line that runs, and the loop that it runs in.
struct Running {
  StepKind kind{};
  int pass = 0;
};
/// The lines in a box, `running` lit; takes its room in the layout.
void draw_pseudo_code(std::span<const CodeLine> lines, std::optional<Running> running, float width, const Palette& colours);
/// The room that they need, at least.
ImVec2 pseudo_code_size(std::span<const CodeLine> lines);

}  // namespace attoscope
