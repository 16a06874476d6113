#include "ui/widgets/option_fields.h"

#include <algorithm>

#include "imgui.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

void begin_option(const char* name, bool differs, const Palette& colours) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_text({at.x, at.y + (px(control_height) - line_height(Face::label)) / 2}, Face::label,
            differs ? colours.text : colours.secondary, name);
  if (differs) {
    const ImVec2 dot{at.x + px(option_name_width - 12), at.y + px(control_height) / 2};
    ImGui::GetWindowDrawList()->AddCircleFilled(dot, px(3), colours.accent);
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

bool seed_field(const char* id, std::uint64_t& value, float width) {
  const WithField f(Face::mono);
  ImGui::SetNextItemWidth(px(width));
  const std::uint64_t one = 1;
  std::uint64_t typed = value;
  if (!ImGui::InputScalar(id, ImGuiDataType_U64, &typed, &one) || typed == value) return false;
  value = typed;
  return true;
}

bool real_field(const char* id, double& value, const RealRange& range, double step, float width) {
  const WithField f(Face::mono);
  ImGui::SetNextItemWidth(px(width));
  double typed = value;
  if (!ImGui::InputDouble(id, &typed, step, 0, "%.6g") || !contains(range, typed) || typed == value) return false;
  value = typed;
  return true;
}

}  // namespace attoscope
