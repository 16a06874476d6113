#include <algorithm>
#include <cmath>

#include "imgui_internal.h"
#include "ui/explore.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

/// Below this width the pins are a tab over the controls.
constexpr float least_for_pins = 820;
/// Below the first width, or if the picture would be narrower than the second, the statistics are a tab over the controls.
constexpr float least_for_statistics = 1280, least_picture = 440;

/// Splits a node of `length` pixels off `rest` at `side`.
ImGuiID split(ImGuiID& rest, ImGuiDir side, float length) {
  const ImVec2 size = ImGui::DockBuilderGetNode(rest)->Size;
  const float all = side == ImGuiDir_Left || side == ImGuiDir_Right ? size.x : size.y;
  ImGuiID part = 0;
  const float shared = std::max(1.0f, all - ImGui::GetStyle().DockingSeparatorSize);
  const float exact =
      side == ImGuiDir_Left ? std::round(length) + 0.25f : std::round(length) - 0.25f;  // the node is rounded to whole pixels
  ImGui::DockBuilderSplitNode(rest, side, std::clamp(exact / shared, 0.05f, 0.9f), &part, &rest);
  return part;
}

/// `wanted`, limited so that `rest` pixels of `all` remain; in pixels.
float fitting(double wanted, float all, float rest) {
  return std::min(px(static_cast<float>(wanted)), std::max(px(64), all - rest));
}

void build(ImGuiID root, ImVec2 at, ImVec2 size, const Docked& docked) {
  ImGui::DockBuilderRemoveNode(root);
  ImGui::DockBuilderAddNode(root, ImGuiDockNodeFlags_DockSpace);
  ImGui::DockBuilderSetNodePos(root, at);
  ImGui::DockBuilderSetNodeSize(root, size);
  const auto& [left_width, right_width, bottom_height, pins_width] = docked.panels;
  const float middle = px(240);
  ImGuiID rest = root;
  const ImGuiID left = split(rest, ImGuiDir_Left, fitting(left_width, size.x, docked.narrow ? middle : middle + px(240)));
  const float beside_controls = ImGui::DockBuilderGetNode(rest)->Size.x;
  const ImGuiID pins =
      docked.pins != PinPlace::column
          ? left
          : split(rest, ImGuiDir_Left, fitting(pins_width, beside_controls, docked.narrow ? middle : middle + px(240)));
  const ImGuiID bottom = docked.low ? 0 : split(rest, ImGuiDir_Down, fitting(bottom_height, size.y, px(200)));
  const float beside = ImGui::DockBuilderGetNode(rest)->Size.x;
  const ImGuiID right = docked.narrow ? left : split(rest, ImGuiDir_Right, fitting(right_width, beside, middle));
  ImGui::DockBuilderDockWindow(controls_window, left);
  if (docked.pins != PinPlace::none) ImGui::DockBuilderDockWindow(pins_window, pins);
  ImGui::DockBuilderDockWindow(statistics_window, right);
  ImGui::DockBuilderDockWindow(heatmap_window, rest);
  ImGui::DockBuilderDockWindow(recurrence_window, docked.low ? rest : bottom);
  constexpr int quiet = static_cast<int>(ImGuiDockNodeFlags_NoUndocking) |
                        static_cast<int>(ImGuiDockNodeFlags_NoWindowMenuButton) |
                        static_cast<int>(ImGuiDockNodeFlags_NoCloseButton) | static_cast<int>(ImGuiDockNodeFlags_NoDocking);
  const auto has_tabs = [&](ImGuiID id) {
    return ((docked.narrow || docked.pins == PinPlace::tab) && id == left) || (docked.low && id == rest);
  };
  for (const ImGuiID id : {left, pins, bottom, right, rest})
    if (ImGuiDockNode* node = ImGui::DockBuilderGetNode(id))
      node->SetLocalFlags(node->LocalFlags | quiet | (has_tabs(id) ? 0 : static_cast<int>(ImGuiDockNodeFlags_NoTabBar)));
  ImGui::DockBuilderFinish(root);
}

/// True while a border between two panels is dragged.
bool is_resizing(ImGuiID root) {
  const ImGuiDockNode* node = ImGui::DockBuilderGetNode(root);
  const ImGuiContext& context = *ImGui::GetCurrentContext();
  return node != nullptr && context.ActiveId != 0 && context.ActiveIdWindow != nullptr &&
         context.ActiveIdWindow == node->HostWindow;
}

/// Sets `length` to a panel's size at scale 1; unchanged if it is not docked.
void measure(const char* name, float ImVec2::* side, double& length) {
  const ImGuiWindow* window = ImGui::FindWindowByName(name);
  if (window == nullptr || window->DockNode == nullptr) return;
  length = std::clamp(std::round(static_cast<double>(window->DockNode->Size.*side / px(1))), 64.0, 8192.0);
}

/// True if the statistics are a tab over the controls.
bool is_narrow(float width, PinPlace pins, const PanelSizes& panels) {
  const float others = px(static_cast<float>(panels.left + panels.right + panels.pins));
  return width < px(least_for_statistics) || (pins == PinPlace::column && width - others < px(least_picture));
}

}  // namespace

void dock_panels(ImVec2 at, ImVec2 size, PanelSizes& panels, bool with_pins, Docked& docked) {
  const ImGuiID root = ImGui::GetID("panels");
  const PinPlace pins = !with_pins ? PinPlace::none : size.x < px(least_for_pins) ? PinPlace::tab : PinPlace::column;
  const Docked wanted{px(1), is_narrow(size.x, pins, panels), size.y < px(520), pins, panels};
  if (docked != wanted || ImGui::DockBuilderGetNode(root) == nullptr) {
    docked = wanted;
    build(root, at, size, docked);
  }
  ImGui::DockSpace(root, size, static_cast<int>(ImGuiDockNodeFlags_NoUndocking));
  if (!is_resizing(root)) return;
  measure(controls_window, &ImVec2::x, panels.left);
  if (docked.pins == PinPlace::column) measure(pins_window, &ImVec2::x, panels.pins);
  if (!docked.narrow) measure(statistics_window, &ImVec2::x, panels.right);
  if (!docked.low) measure(recurrence_window, &ImVec2::y, panels.bottom);
  docked.panels = panels;
}

}  // namespace attoscope
