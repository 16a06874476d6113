#include "ui/widgets/path_prompt.h"

#include "imgui.h"
#include "imgui_stdlib.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

PromptOutcome prompt_outcome(PathPrompt& prompt, const PanelInput& input, bool failed) {
  if (ImGui::IsWindowAppearing()) prompt.asked = prompt.failed = false;
  if (ImGui::IsKeyPressed(ImGuiKey_Escape, false)) return {.done = true};
  if (!prompt.asked || input.answer.reading) return {};
  prompt.asked = false;
  prompt.failed = failed;
  return {.done = !failed, .just_failed = failed};
}

bool is_due(PathPrompt& prompt) {
  if (prompt.wanted_for == 0 || !ImGui::IsWindowFocused(ImGuiFocusedFlags_ChildWindows)) return false;
  return --prompt.wanted_for == 0;
}

void set_popup_place() {
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  ImGui::SetNextWindowPos({min.x, max.y + px(4)}, ImGuiCond_Appearing);
}

bool path_field(const char* id, const char* hint, PathPrompt& prompt, float width, bool focus) {
  const WithField f(Face::mono);
  ImGui::SetNextItemWidth(width);
  if (focus) ImGui::SetKeyboardFocusHere();
  const bool entered = ImGui::InputTextWithHint(id, hint, &prompt.typed,
                                                ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
  if (ImGui::IsItemEdited()) prompt.failed = false;
  return entered && !prompt.typed.empty();
}

void path_error(const PathPrompt& prompt, const PanelInput& input, float width) {
  if (!prompt.failed || input.messages.error.empty()) return;
  wrapped(Face::small, colours().bad, input.messages.error, width);
}

}  // namespace attoscope
