// Names of curves that show or hide them.
#include "ui/recurrence.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

/// What a curve looks like, `width` wide about the middle `c`.
void draw_mark(LegendEntry::Mark mark, ImVec2 c, float width, Colour colour) {
  using Mark = LegendEntry::Mark;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float half = width / 2, r = px(3);
  switch (mark) {
    case Mark::line:
      list->AddLine({c.x - half, c.y}, {c.x + half, c.y}, colour, px(2));
      break;
    case Mark::dashes:
      draw_dashed(list, {c.x - half, c.y}, {c.x + half, c.y}, colour, px(2.5f), px(2));
      break;
    case Mark::dot:
      list->AddCircleFilled(c, r, colour);
      break;
    case Mark::ring:
      list->AddCircle(c, r, colour, 0, px(1.2f));
      break;
    case Mark::diamond:
      list->AddQuad({c.x - r, c.y}, {c.x, c.y - r}, {c.x + r, c.y}, {c.x, c.y + r}, colour, px(1.2f));
      break;
    case Mark::band:
      list->AddRectFilled({c.x - half, c.y - r}, {c.x + half, c.y + r}, faded(colour, 0.3f));
      break;
    case Mark::bar:
      list->AddRectFilled({c.x - half * 0.6f, c.y - px(4)}, {c.x + half * 0.6f, c.y + px(4)}, colour);
      break;
  }
}

}  // namespace

void draw_legend(View& view, ImVec2 at, float width, std::initializer_list<LegendEntry> entries, const Palette& colours) {
  const float mark = px(9), gap = px(4), height = px(16), end = at.x + width;
  for (const LegendEntry& entry : entries) {
    const bool hidden = (view.hidden_curves & bit(entry.curve)) != 0;
    const std::string shown = fitted(Face::small, entry.name, end - at.x - mark - gap);
    const float length = mark + gap + text_width(Face::small, shown);
    if (at.x + length > end + 1) return;
    ImGui::SetCursorScreenPos({at.x - px(3), at.y});
    if (ImGui::InvisibleButton((std::string("legend ") + entry.id).c_str(), {length + px(6), height}))
      view.hidden_curves ^= bit(entry.curve);
    const bool hot = ImGui::IsItemHovered();
    if (hot) ImGui::GetWindowDrawList()->AddRectFilled(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(), colours.raised, px(3));
    explain(std::string(entry.what) + (hidden ? " Click: show it." : " Click: hide it."), entry.formula);
    const float y = at.y + height / 2;
    draw_mark(entry.mark, {at.x + mark / 2, y}, mark, hidden ? faded(entry.colour, 0.35f) : entry.colour);
    draw_text({at.x + mark + gap, y - line_height(Face::small) / 2 - px(1)}, Face::small,
              hidden ? faded(colours.faint, hot ? 1 : 0.7f) : colours.secondary, shown);
    if (hidden)
      ImGui::GetWindowDrawList()->AddLine({at.x + mark + gap, y}, {at.x + length, y}, faded(colours.faint, 0.8f), px(1));
    at.x += length + px(10);
  }
}

}  // namespace attoscope
