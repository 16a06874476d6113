// A searchable list of all parameters, by groups.
#include <algorithm>
#include <limits>
#include <string>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "kernels/experiment/letters.h"
#include "ui/sweep/panels.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

bool fits(const SweepParameter& p, const std::string& search) {
  return in_small_letters(p.key + " " + p.title + " " + p.what + " " + p.group).find(in_small_letters(search)) !=
         std::string::npos;
}

/// A parameter: key and title. True if it was clicked.
bool entry(const SweepParameter& p, bool chosen) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = px(22), key_width = px(128), width = px(400);
  const bool pressed = ImGui::Selectable(("##" + p.key).c_str(), chosen, 0, {width, height});
  explain(p.what, "for instance " + p.key + " = " + p.example);
  draw_text({at.x + px(4), at.y + (height - line_height(Face::mono)) / 2}, Face::mono,
            chosen ? colours().accent : colours().text, p.key);
  draw_text({at.x + key_width, at.y + (height - line_height(Face::small)) / 2}, Face::small, colours().secondary,
            fitted(Face::small, p.title == p.key ? p.what : p.title + ": " + p.what, width - key_width));
  return pressed;
}

/// Search field; Enter takes the first match.
bool search_field(std::string& search) {
  const WithField f(Face::label);
  if (ImGui::IsWindowAppearing()) {
    search.clear();
    ImGui::SetKeyboardFocusHere();
  }
  ImGui::SetNextItemWidth(px(400));
  const bool entered = ImGui::InputTextWithHint("##search", "find a parameter", &search, ImGuiInputTextFlags_EnterReturnsTrue);
  if (ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
  explain("Part of a name, a group or an explanation. Enter takes the first parameter that fits.");
  return entered;
}

bool choose(const SweepParameter& p, VariedParameter& varied) {
  ImGui::CloseCurrentPopup();
  if (varied.key == p.key) return false;
  varied = {p.key, p.example};
  return true;
}

}  // namespace

bool pick_parameter(const SweepScene& s, const char* name, VariedParameter& varied, bool may_be_none, float width) {
  const WithField f(Face::mono);
  ImGui::SetNextWindowSizeConstraints({0, 0}, {std::numeric_limits<float>::max(), px(520)});
  if (!begin_combo(name, varied.key.empty() ? "none" : varied.key, width)) {
    explain(may_be_none ? "A second parameter: every value of the first is computed with every value of it."
                        : "The parameter that is varied; everything else of the experiment stays as it is.");
    return false;
  }
  std::string& search = s.state.search;
  const bool entered = search_field(search);
  bool changed = false, first = true;
  if (may_be_none && search.empty()) {
    if (ImGui::Selectable("none", varied.key.empty())) changed = !varied.key.empty(), varied = {};
    explain("One parameter alone.");
  }
  std::string group;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(8), px(2)});
  if (s.sweep().offer)
    for (const SweepParameter& p : s.sweep().offer->parameters) {
      if (!fits(p, search)) continue;
      if (group != p.group) section(in_capitals(group = p.group));
      if (entry(p, varied.key == p.key) || (entered && first)) changed |= choose(p, varied);
      first = false;
    }
  ImGui::PopStyleVar();
  if (first && !search.empty()) label(Face::label, colours().secondary, "No parameter has this name.");
  ImGui::EndCombo();
  return changed;
}

}  // namespace attoscope
