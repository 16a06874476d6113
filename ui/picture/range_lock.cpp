#include "ui/picture/range_lock.h"

#include <algorithm>
#include <cmath>

#include "ui/widgets/colours.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

/// A padlock with its centre at `c`, open or closed.
void draw_padlock(ImVec2 c, bool closed, Colour colour) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float half = px(5), top = c.y - px(0.5f), radius = px(3.2f), pi = 3.14159265f;
  list->AddRectFilled({c.x - half, top}, {c.x + half, top + px(7)}, colour, px(1.5f));
  const float lift = closed ? 0 : px(2), arc = top - px(2) - lift;
  list->PathLineTo({c.x - radius, top});
  list->PathArcTo({c.x, arc}, radius, -pi, 0);
  if (closed) list->PathLineTo({c.x + radius, top});
  list->PathStroke(colour, 0, px(1.5f));
}

/// A triangle left of the bar that points at the largest |value|, or upwards beside its end if the value is beyond.
void draw_mark(const Box& bar, const Colouring& how, double largest, Colour colour) {
  const double end = static_cast<double>(how.range);
  const bool beyond = largest > end;
  const float share = bar_position(static_cast<float>(std::min(largest, end)), how), s = px(4);
  const float x = bar.min.x - px(1), y = bar.min.y + (1 - share) * (bar.max.y - bar.min.y);
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (beyond)
    list->AddTriangleFilled({x - 2 * s, y + 2 * s}, {x, y + 2 * s}, {x - s, y}, colour);
  else
    list->AddTriangleFilled({x, y}, {x - 1.5f * s, y - s}, {x - 1.5f * s, y + s}, colour);
}

}  // namespace

void draw_range_lock(View& view, const UiState& state, const Places& p, const Colouring& how) {
  const bool pinned = looked(view).range_pinned;
  const double largest = largest_shown(state, view);
  if (static_cast<float>(automatic_range(largest)) != how.range && largest > 0)
    draw_mark({{p.bar_left[0], p.min.y}, {p.bar_right[0], p.max.y}}, how, largest, colours().text);
  const float side = px(20), middle = (p.bar_left[0] + p.bar_right[0]) / 2;
  const ImVec2 at{std::floor(middle - side / 2), std::floor(p.max.y + px(6))};
  ImGui::SetCursorScreenPos(at);
  if (ImGui::InvisibleButton("pin", {side, side})) toggle_pinned_range(state, view);
  const bool hot = ImGui::IsItemHovered();
  if (hot) ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + side, at.y + side}, colours().raised, px(3));
  draw_padlock({middle, at.y + side / 2}, pinned, pinned ? colours().accent : hot ? colours().text : colours().faint);
  explain(
      "Fixes the range of the colours, so that pictures can be compared while the numbers change. Each kind of picture has its "
      "own. Key P; Shift+P fits it to the values as they are now.\nWhile a slider moves, the range stays in any case, and a "
      "mark beside the bar points at the largest |value|.");
}

}  // namespace attoscope
