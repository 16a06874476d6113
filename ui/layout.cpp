#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "imgui_internal.h"
#include "ui/explore.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

/// Below this width of the picture the statistics are a tab over the controls.
constexpr float least_picture = 440;

/// A place beside the middle, in the order in which they are split off.
struct Side {
  Dock dock;
  ImGuiDir direction;
  double PanelSizes::* length;
  float rest;  ///< length that remains for the others, at scale 1
};
constexpr std::array sides{
    Side{Dock::left, ImGuiDir_Left, &PanelSizes::left, 240}, Side{Dock::pins, ImGuiDir_Left, &PanelSizes::pins, 240},
    Side{Dock::bottom, ImGuiDir_Down, &PanelSizes::bottom, 200}, Side{Dock::right, ImGuiDir_Right, &PanelSizes::right, 240}};

bool is_across(ImGuiDir side) { return side == ImGuiDir_Left || side == ImGuiDir_Right; }
float length_of(ImVec2 size, ImGuiDir side) { return is_across(side) ? size.x : size.y; }

/// Splits a node of `length` pixels off `rest` at `side`.
ImGuiID split(ImGuiID& rest, ImGuiDir side, float length) {
  const float all = length_of(ImGui::DockBuilderGetNode(rest)->Size, side);
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
  std::map<Dock, ImGuiID> nodes;
  ImGuiID rest = root;
  for (const Side& side : sides) {
    if (docked.count(side.dock) == 0) continue;
    const float all = length_of(ImGui::DockBuilderGetNode(rest)->Size, side.direction);
    const bool before_right = side.direction == ImGuiDir_Left && docked.count(Dock::right) > 0;
    nodes[side.dock] =
        split(rest, side.direction, fitting(docked.panels.*side.length, all, px(side.rest + (before_right ? 240 : 0))));
  }
  nodes[Dock::middle] = rest;
  for (std::size_t i = 0; i < panels().size(); ++i)
    if (docked.docks[i] != Dock::hidden) ImGui::DockBuilderDockWindow(panels()[i].name, nodes.at(docked.docks[i]));
  constexpr int quiet = static_cast<int>(ImGuiDockNodeFlags_NoUndocking) |
                        static_cast<int>(ImGuiDockNodeFlags_NoWindowMenuButton) |
                        static_cast<int>(ImGuiDockNodeFlags_NoCloseButton) | static_cast<int>(ImGuiDockNodeFlags_NoDocking);
  for (const auto& [dock, id] : nodes)
    if (ImGuiDockNode* node = ImGui::DockBuilderGetNode(id))
      node->SetLocalFlags(node->LocalFlags | quiet |
                          (docked.count(dock) > 1 ? 0 : static_cast<int>(ImGuiDockNodeFlags_NoTabBar)));
  ImGui::DockBuilderFinish(root);
}

/// True while a border between two panels is dragged.
bool is_resizing(ImGuiID root) {
  const ImGuiDockNode* node = ImGui::DockBuilderGetNode(root);
  const ImGuiContext& context = *ImGui::GetCurrentContext();
  return node != nullptr && context.ActiveId != 0 && context.ActiveIdWindow != nullptr &&
         context.ActiveIdWindow == node->HostWindow;
}

/// Keeps the sizes of the places beside the middle, at scale 1.
void measure(const Docked& docked, PanelSizes& sizes) {
  for (const Side& side : sides) {
    const auto first = std::ranges::find(docked.docks, side.dock);
    if (first == docked.docks.end()) continue;
    const char* const name = panels()[static_cast<std::size_t>(first - docked.docks.begin())].name;
    const ImGuiWindow* const window = ImGui::FindWindowByName(name);
    if (window == nullptr || window->DockNode == nullptr) continue;
    const float length = length_of(window->DockNode->Size, side.direction);
    sizes.*side.length = std::clamp(std::round(static_cast<double>(length / px(1))), 64.0, 8192.0);
  }
}

/// Places of the panels in a window of `size`.
std::vector<Dock> docks_of(ImVec2 size, const View& view) {
  std::vector<Dock> docks;
  for (const Panel& p : panels()) {
    const float room = p.dock == Dock::bottom ? size.y : size.x;
    const bool hidden = p.shown != nullptr && !(view.*p.shown);
    docks.push_back(hidden ? Dock::hidden : room < px(p.least) ? p.instead : p.dock);
  }
  const PanelSizes& sizes = view.panels;
  const float picture = size.x - px(static_cast<float>(sizes.left + sizes.right + sizes.pins));
  if (std::ranges::find(docks, Dock::pins) != docks.end() && picture < px(least_picture))
    for (std::size_t i = 0; i < docks.size(); ++i)
      if (docks[i] == Dock::right) docks[i] = panels()[i].instead;
  return docks;
}

}  // namespace

void dock_panels(ImVec2 at, ImVec2 size, View& view, Docked& docked) {
  const ImGuiID root = ImGui::GetID("panels");
  const Docked wanted{px(1), docks_of(size, view), view.panels};
  if (docked != wanted || ImGui::DockBuilderGetNode(root) == nullptr) {
    docked = wanted;
    build(root, at, size, docked);
  }
  ImGui::DockSpace(root, size, static_cast<int>(ImGuiDockNodeFlags_NoUndocking));
  if (!is_resizing(root)) return;
  measure(docked, view.panels);
  docked.panels = view.panels;
}

}  // namespace attoscope::ui
