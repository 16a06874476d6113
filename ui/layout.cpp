#include "ui/layout.h"

#include <algorithm>
#include <cmath>

#include "imgui_internal.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

/// The node of `length` pixels split off at `side`.
ImGuiID split(ImGuiID& rest, ImGuiDir side, float length) {
  const ImVec2 size = ImGui::DockBuilderGetNode(rest)->Size;
  const float all = side == ImGuiDir_Left || side == ImGuiDir_Right ? size.x : size.y;
  ImGuiID part = 0;
  ImGui::DockBuilderSplitNode(rest, side, std::clamp(length / std::max(1.0f, all), 0.05f, 0.9f), &part, &rest);
  return part;
}

void build(ImGuiID root, ImVec2 at, ImVec2 size, bool narrow) {
  ImGui::DockBuilderRemoveNode(root);
  ImGui::DockBuilderAddNode(root, ImGuiDockNodeFlags_DockSpace);
  ImGui::DockBuilderSetNodePos(root, at);
  ImGui::DockBuilderSetNodeSize(root, size);
  ImGuiID rest = root;
  const ImGuiID left = split(rest, ImGuiDir_Left, px(316)), bottom = split(rest, ImGuiDir_Down, px(262));
  const ImGuiID right = narrow ? left : split(rest, ImGuiDir_Right, px(348));
  ImGui::DockBuilderDockWindow(controls_window, left);
  ImGui::DockBuilderDockWindow(statistics_window, right);
  ImGui::DockBuilderDockWindow(recurrence_window, bottom);
  ImGui::DockBuilderDockWindow(heatmap_window, rest);
  constexpr int quiet = static_cast<int>(ImGuiDockNodeFlags_NoUndocking) |
                        static_cast<int>(ImGuiDockNodeFlags_NoWindowMenuButton) |
                        static_cast<int>(ImGuiDockNodeFlags_NoCloseButton) | static_cast<int>(ImGuiDockNodeFlags_NoDocking);
  for (const ImGuiID id : {left, bottom, right, rest})
    ImGui::DockBuilderGetNode(id)->SetLocalFlags(ImGui::DockBuilderGetNode(id)->LocalFlags | quiet |
                                                 (narrow && id == left ? 0 : static_cast<int>(ImGuiDockNodeFlags_NoTabBar)));
  ImGui::DockBuilderFinish(root);
}

}  // namespace

void dock_panels(ImVec2 at, ImVec2 size, UiMemory& memory) {
  const float scale = px(1);
  const ImGuiID root = ImGui::GetID("panels");
  const bool narrow = size.x < px(1280);
  if (memory.docked_scale != scale || memory.docked_narrow != narrow || ImGui::DockBuilderGetNode(root) == nullptr) {
    build(root, at, size, narrow);
    memory.docked_scale = scale;
    memory.docked_narrow = narrow;
  }
  ImGui::DockSpace(root, size, static_cast<int>(ImGuiDockNodeFlags_NoUndocking));
}

}  // namespace attoscope
