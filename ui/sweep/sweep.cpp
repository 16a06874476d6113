#include "ui/sweep/sweep.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "ui/picture/still_panel.h"
#include "ui/sweep/panels.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

/// Layout of the three panels: side by side, or in a narrow window the table under the picture.
struct SweepLayout {
  Box plan, picture, rows;
};

SweepLayout layout(bool two) {
  const ImGuiViewport* view = ImGui::GetMainViewport();
  const ImVec2 from{view->Pos.x, view->Pos.y + px(36)},
      to{view->Pos.x + view->Size.x, std::max(from.y + px(80), view->Pos.y + view->Size.y - px(26))};
  const float width = to.x - from.x, left = std::floor(from.x + std::min(px(316), 0.45f * width));
  if (width < px(1160)) {
    const float below = std::floor(to.y - std::clamp(0.34f * (to.y - from.y), px(96), px(240)));
    return {{from, {left, to.y}}, {{left, from.y}, {to.x, below}}, {{left, below}, to}};
  }
  const float right = std::floor(to.x - std::clamp(0.25f * width, px(two ? 404 : 348), px(460)));
  return {{from, {left, to.y}}, {{left, from.y}, {right, to.y}}, {{right, from.y}, to}};
}

}  // namespace

void draw_sweep(Session& session, const PanelInput& input, UiState& state, Requests& requests) {
  if (!state.sweep) state.sweep = std::make_shared<SweepState>();
  SweepState& m = *state.sweep;
  refresh(m.drawing, input.sweep.table, session.sweep);
  if (!(m.zoomed == session.sweep.first)) m.zoomed = session.sweep.first, m.zoom_from = m.zoom_to = 0;
  m.pointed = std::exchange(m.pointing, std::nullopt);
  const SweepScene scene{session, input, m, requests};
  const SweepLayout at = layout(!session.sweep.second.key.empty());
  constexpr ImGuiWindowFlags still = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  panel("Sweep plan", at.plan, ImGuiWindowFlags_None, [&] { draw_sweep_plan(scene); });
  panel("Sweep picture", at.picture, still, [&] {
    draw_edges(at.picture, false);
    draw_sweep_head(scene);
    draw_sweep_picture(scene);
  });
  panel("Sweep rows", at.rows, still, [&] {
    draw_edges(at.rows, at.rows.min.x == at.picture.min.x);
    draw_sweep_rows(scene);
  });
}

}  // namespace attoscope
