#include "ui/widgets/bit_boxes.h"

#include <algorithm>

#include "ui/widgets/widgets.h"

namespace attoscope {

Colour bit_colour(const Format& f, int i) {
  return i == 0 ? colours().moved : i <= f.exponent_bits ? colours().good : mixed(colours().faint, colours().text, 0.35f);
}

void draw_bit_boxes(const Format& f, const BitBoxes& boxes, ImVec2 at, ImVec2 size) {
  const int sign = boxes.has_sign ? 1 : 0, bits = sign + f.exponent_bits + f.mantissa_bits;
  const float step = size.x / static_cast<float>(boxes.columns), gap = step > px(6) ? px(2) : step > px(4) ? 1.0f : 0.5f;
  const float rounding = step > px(6) ? px(2) : 0, line = line_height(Face::mono_small);
  const bool written = step - gap >= text_width(Face::mono_small, "0") + 1 && size.y >= line;
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (int i = 0; i < boxes.columns; ++i) {
    const float x = at.x + step * static_cast<float>(i);
    const ImVec2 from{x, at.y}, to{x + step - gap, at.y + size.y};
    if (i >= bits) {
      list->AddRect(from, to, i == boxes.hovered ? colours().secondary : colours().line, rounding);
      continue;
    }
    const Colour c = bit_colour(f, i + 1 - sign);
    const bool has_digit = static_cast<std::size_t>(i) < boxes.digits.size(),
               zero = has_digit && boxes.digits[static_cast<std::size_t>(i)] == '0';
    const Colour box = zero ? mixed(colours().panel, c, 0.22f) : c;
    list->AddRectFilled(from, to, i == boxes.hovered ? mixed(box, colours().text, 0.4f) : box, rounding);
    if (has_digit && written)
      draw_text({(from.x + to.x) / 2, at.y + (size.y - line) / 2}, Face::mono_small, zero ? colours().text : colours().panel,
                boxes.digits.substr(static_cast<std::size_t>(i), 1), 0.5f);
  }
}

int hovered_bit(int columns, ImVec2 at, ImVec2 size) {
  if (!ImGui::IsItemHovered()) return -1;
  const float place = (ImGui::GetMousePos().x - at.x) / size.x;
  return std::clamp(static_cast<int>(place * static_cast<float>(columns)), 0, columns - 1);
}

}  // namespace attoscope
