// The Explore workspace: four panels, docked.
#include "ui/heatmap_view.h"
#include "ui/layout.h"
#include "ui/panels.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

template <class Draw>
void panel(const char* name, ImGuiWindowFlags flags, Draw draw) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {px(12), px(8)});
  const bool open = ImGui::Begin(
      name, nullptr, flags | ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoFocusOnAppearing);
  ImGui::PopStyleVar();
  if (open) draw();
  ImGui::End();
}

}  // namespace

bool is_stale(const Frame& frame) {
  return frame.computing && frame.computing_seconds > 0.1 && !(frame.result && is_first_answer(*frame.result));
}

void dim_if_stale(const Frame& frame, const Palette& colours) {
  if (!is_stale(frame)) return;
  const ImVec2 at = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + size.x, at.y + size.y}, faded(colours.panel, 0.35f));
}

void draw_explore(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes) {
  const ImGuiWindowFlags still = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  panel(controls_window, 0, [&] { draw_controls(session, frame, memory, colours, wishes); });
  panel(statistics_window, still, [&] { draw_statistics(session, frame, memory, colours, wishes); });
  panel(heatmap_window, still, [&] { draw_heatmap(session, frame, memory, colours); });
  panel(recurrence_window, still, [&] { draw_recurrence(session, frame, memory.strip, colours); });
}

}  // namespace attoscope
