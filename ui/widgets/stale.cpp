#include "ui/widgets/stale.h"

#include <algorithm>

#include "imgui.h"
#include "kernels/experiment/result.h"
#include "ui/frame/panel_input.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

bool is_first_answer(const Result& result) {
  const Problem& p = result.experiment.problem;
  return static_cast<int>(result.rows.size()) < (p.rows == 0 ? p.n : std::min(p.rows, p.n));
}

bool is_stale(const PanelInput& input) {
  return input.answer.computing && input.answer.computing_seconds > 0.1 &&
         !(input.answer.result && is_first_answer(*input.answer.result));
}

void dim_if_stale(const PanelInput& input) {
  if (!is_stale(input)) return;
  const ImVec2 at = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + size.x, at.y + size.y}, faded(colours().panel, 0.35f));
}

}  // namespace attoscope
