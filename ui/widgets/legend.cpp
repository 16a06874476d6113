#include "ui/widgets/legend.h"

#include <algorithm>
#include <vector>

#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

constexpr float usual_dash = 2.5f;

float mark_width(const LegendName& entry) { return px(entry.dash > 0 ? 18 : 9); }

/// Mark of a curve, `width` wide, centred at `c`.
void draw_mark(CurveMark mark, ImVec2 c, float width, float dash, Colour colour) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float half = width / 2, r = px(3);
  switch (mark) {
    case CurveMark::line:
      list->AddLine({c.x - half, c.y}, {c.x + half, c.y}, colour, px(2));
      break;
    case CurveMark::dashes:
      draw_dashed(list, {c.x - half, c.y}, {c.x + half, c.y}, colour, px(dash), px(2));
      break;
    case CurveMark::dot:
      list->AddCircleFilled(c, r, colour);
      break;
    case CurveMark::ring:
      list->AddCircle(c, r, colour, 0, px(1.2f));
      break;
    case CurveMark::diamond:
      list->AddQuad({c.x - r, c.y}, {c.x, c.y - r}, {c.x + r, c.y}, {c.x, c.y + r}, colour, px(1.2f));
      break;
    case CurveMark::band:
      list->AddRectFilled({c.x - half, c.y - r}, {c.x + half, c.y + r}, faded(colour, 0.3f));
      break;
    case CurveMark::bar:
      list->AddRectFilled({c.x - half * 0.6f, c.y - px(4)}, {c.x + half * 0.6f, c.y + px(4)}, colour);
      break;
  }
}

/// Largest width of a name with which all entries fit in a line. Longer names are shortened, or only their marks shown.
struct Names {
  float widest;
  bool shortened;
};
Names names_in(std::span<const LegendName> entries, float room) {
  std::vector<float> widths;
  for (const LegendName& entry : entries) widths.push_back(text_width(Face::small, entry.name));
  std::ranges::sort(widths);
  float widest = 0, left = static_cast<float>(widths.size());
  for (const float width : widths) {
    if (width > room / left && room / left >= px(20)) return {room / left, true};
    if (width > room) break;
    widest = width, room -= width, --left;
  }
  return {widest, false};
}

}  // namespace

int draw_legend(ImVec2 at, float width, std::span<const LegendName> entries) {
  int clicked = -1;
  const float gap = px(4), height = px(16);
  const auto count = static_cast<float>(entries.size());
  float marks = 0;  // with the gaps after them
  for (const LegendName& entry : entries) marks += mark_width(entry) + gap;
  const float apart = std::clamp((width - marks) / std::max(1.0f, count - 1), px(2), px(10)),
              margin = std::min(px(3), apart / 2);
  const Names names = names_in(entries, width - marks - (count - 1) * apart);
  for (const LegendName& entry : entries) {
    const float mark = mark_width(entry);
    const bool named = names.shortened || text_width(Face::small, entry.name) <= names.widest;
    const std::string shown = named ? fitted(Face::small, entry.name, names.widest + 0.5f) : "";
    const float length = mark + gap + text_width(Face::small, shown);
    ImGui::SetCursorScreenPos({at.x - margin, at.y});
    if (ImGui::InvisibleButton(("legend " + entry.id).c_str(), {length + 2 * margin, height}))
      clicked = static_cast<int>(&entry - entries.data());
    const bool hot = ImGui::IsItemHovered();
    if (hot)
      ImGui::GetWindowDrawList()->AddRectFilled(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(), colours().raised, px(3));
    explain(entry.what + (entry.hidden ? " Click: show it." : " Click: hide it."), entry.formula);
    const float y = at.y + height / 2;
    draw_mark(entry.mark, {at.x + mark / 2, y}, mark, entry.dash > 0 ? entry.dash : usual_dash,
              entry.hidden ? faded(entry.colour, 0.35f) : entry.colour);
    draw_text({at.x + mark + gap, y - line_height(Face::small) / 2 - px(1)}, Face::small,
              entry.hidden ? faded(colours().faint, hot ? 1 : 0.7f) : colours().secondary, shown);
    if (entry.hidden)
      ImGui::GetWindowDrawList()->AddLine({at.x + mark + gap, y}, {at.x + length, y}, faded(colours().faint, 0.8f), px(1));
    at.x += length + apart;
  }
  return clicked;
}

}  // namespace attoscope
