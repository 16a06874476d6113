#include "ui/widgets/option_fields.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "kernels/experiment/text.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

void begin_option(const char* name, bool differs) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_in_line(at, px(control_height), Face::label, differs ? colours().text : colours().secondary, name);
  if (differs) {
    const ImVec2 dot{at.x + px(option_name_width - 12), at.y + px(control_height) / 2};
    ImGui::GetWindowDrawList()->AddCircleFilled(dot, px(3), colours().accent);
  }
  ImGui::SetCursorScreenPos({at.x + px(option_name_width), at.y});
}

bool whole_field(const char* id, int& value, int least, int most, float width) {
  const WithField f(Face::mono);
  ImGui::SetNextItemWidth(px(width));
  const int before = value;
  if (ImGui::InputInt(id, &value, 1, 4)) value = std::clamp(value, least, most);
  return value != before;
}

bool real_field(const char* id, double& value, const RealRange& range, double step, float width) {
  const WithField f(Face::mono);
  ImGui::SetNextItemWidth(px(width));
  double typed = value;
  if (!ImGui::InputDouble(id, &typed, step, 0, "%.6g") || !contains(range, typed) || typed == value) return false;
  value = typed;
  return true;
}

namespace {

void seed_field(const char* id, std::uint64_t& value) {
  const WithField f(Face::mono);
  ImGui::SetNextItemWidth(px(option_field_width));
  const std::uint64_t one = 1;
  ImGui::InputScalar(id, ImGuiDataType_U64, &value, &one);
}

/// A rounding as text, set on Enter; invalid text changes nothing.
void rounding_field(const char* id, Rounding& value) {
  const WithField f(Face::mono);
  ImGui::SetNextItemWidth(px(option_field_width));
  std::string typed = rounding_text(value);
  if (!ImGui::InputText(id, &typed, ImGuiInputTextFlags_EnterReturnsTrue)) return;
  try {
    value = parse_rounding(typed);
  } catch (const std::invalid_argument&) {
  }
}

/// A value of an enumeration: buttons if they fit and all values are possible, else a list.
void named_field(const Setting& s, const NamedValue& value, const SettingLook& look) {
  std::vector<Choice> choices(look.choices.begin(), look.choices.end());
  if (choices.empty())
    for (const std::string_view name : value.names) choices.push_back({name, {}});
  float texts = 0;
  for (const Choice& c : choices) texts += text_width(Face::label, c.label) + px(8);
  const std::string key(s.key);
  int chosen = *value.value;
  if (!look.why_not && texts <= px(option_field_width)) {
    segmented(key.c_str(), choices, chosen, px(option_field_width));
  } else if (const WithField f(Face::mono);
             begin_combo(("##" + key).c_str(), std::string(choices[*value.value].label), px(option_field_width))) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const std::string reason = look.why_not ? look.why_not(value.names[i]) : std::string();
      const std::string text(choices[i].label);
      const bool pressed = if_possible(reason.empty(), [&] { return ImGui::Selectable(text.c_str(), i == *value.value); });
      explain(std::string(choices[i].what.empty() ? s.sentence : choices[i].what) +
              (reason.empty() ? "" : " Not here: " + reason));
      if (pressed) chosen = static_cast<int>(i);
    }
    ImGui::EndCombo();
  }
  *value.value = static_cast<std::uint8_t>(chosen);
}

}  // namespace

void edit_setting(const Setting& s, bool differs, const SettingLook& look) {
  const std::string key(s.key), id = "##" + key;
  ImGui::BeginGroup();
  begin_option(std::string(s.label).c_str(), differs);
  if (auto* const* x = std::get_if<int*>(&s.value))
    whole_field(id.c_str(), **x, static_cast<int>(s.range.min), static_cast<int>(s.range.max));
  if (auto* const* x = std::get_if<std::uint64_t*>(&s.value)) seed_field(id.c_str(), **x);
  if (auto* const* x = std::get_if<double*>(&s.value)) real_field(id.c_str(), **x, s.range, look.step);
  if (auto* const* x = std::get_if<bool*>(&s.value)) toggle(look.on, **x, px(option_field_width));
  if (const auto* x = std::get_if<NamedValue>(&s.value)) named_field(s, *x, look);
  if (auto* const* x = std::get_if<Rounding*>(&s.value)) rounding_field(id.c_str(), **x);
  ImGui::EndGroup();
  explain(s.sentence, s.formula);
}

}  // namespace attoscope::ui
