#include "ui/picture/still_panel.h"

#include "ui/widgets/widgets.h"

namespace attoscope {

void panel(const char* name, const Box& box, ImGuiWindowFlags flags, const std::function<void()>& draw) {
  ImGui::SetNextWindowPos(box.min);
  ImGui::SetNextWindowSize({box.max.x - box.min.x, box.max.y - box.min.y});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {px(12), px(10)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, {1, 1});
  const bool open = ImGui::Begin(name, nullptr,
                                 flags | ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoCollapse |
                                     ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                                     ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoFocusOnAppearing);
  ImGui::PopStyleVar(3);
  if (open) draw();
  ImGui::End();
}

void draw_edges(const Box& box, bool top) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddLine({box.min.x, box.min.y}, {box.min.x, box.max.y}, colours().line);
  if (top) list->AddLine({box.min.x, box.min.y}, {box.max.x, box.min.y}, colours().line);
}

}  // namespace attoscope
