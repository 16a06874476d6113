#include "ui/commands/panel_focus.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "imgui.h"
#include "imgui_internal.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

constexpr float highest_bar = 40;

/// True if a window is a panel, visible or behind another's tab; false for popups and child windows.
bool is_panel(const ImGuiWindow& w) {
  constexpr ImGuiWindowFlags others =
      ImGuiWindowFlags_Popup | ImGuiWindowFlags_Tooltip | ImGuiWindowFlags_NoNavFocus | ImGuiWindowFlags_NoNavInputs;
  const bool is_part = (w.Flags & ImGuiWindowFlags_ChildWindow) != 0 && !w.DockIsActive,
             is_behind = w.DockIsActive && !w.DockTabIsVisible;
  return w.WasActive && (is_behind || !w.Hidden) && !is_part && (w.Flags & others) == 0 && !w.IsFallbackWindow;
}

/// All panels in reading order.
std::vector<ImGuiWindow*> panels() {
  std::vector<ImGuiWindow*> all;
  for (ImGuiWindow* w : ImGui::GetCurrentContext()->Windows)
    if (is_panel(*w)) all.push_back(w);
  const float middle = ImGui::GetMainViewport()->GetCenter().y;
  const auto place = [middle](const ImGuiWindow* w) {
    const bool is_bar = w->Size.y <= px(highest_bar);
    return std::tuple{is_bar ? (w->Pos.y < middle ? 0 : 2) : 1, w->Pos.x, w->Pos.y};
  };
  std::ranges::stable_sort(all, {}, place);
  return all;
}

/// Panel with the keyboard focus; null: none.
ImGuiWindow* focused_panel() {
  const ImGuiWindow* const at = ImGui::GetCurrentContext()->NavWindow;
  return at != nullptr && at->RootWindow != nullptr && is_panel(*at->RootWindow) ? at->RootWindow : nullptr;
}

}  // namespace

void focus_panel(int by) {
  const std::vector<ImGuiWindow*> all = panels();
  if (all.empty()) return;
  const auto count = static_cast<std::ptrdiff_t>(all.size());
  const auto found = std::ranges::find(all, focused_panel());
  const std::ptrdiff_t before = by > 0 ? -1 : count, at = found == all.end() ? before : found - all.begin();
  ImGuiWindow* const next = all[static_cast<std::size_t>((at + by + count) % count)];
  ImGui::FocusWindow(next);
  ImGui::NavInitWindow(next, false);
  ImGui::SetNavCursorVisible(true);
}

void draw_panel_focus() {
  const ImGuiWindow* const panel = ImGui::GetIO().NavVisible ? focused_panel() : nullptr;
  if (panel == nullptr) return;
  const ImRect at = panel->Rect();
  ImGui::GetForegroundDrawList()->AddRect({at.Min.x + 1, at.Min.y + 1}, {at.Max.x - 1, at.Max.y - 1}, colours().accent, 0,
                                          px(1.5f));
}

}  // namespace attoscope
