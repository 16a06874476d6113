#include "ui/widgets/transport.h"

#include "imgui.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

/// A triangle or a chevron that points right (`way` 1) or left (-1), centred at `c`.
void draw_chevron(ImDrawList* list, ImVec2 c, float way, Colour colour) {
  const float half = px(4.5f);
  const ImVec2 points[3] = {
      {c.x - way * half / 2, c.y - half}, {c.x + way * half / 2, c.y}, {c.x - way * half / 2, c.y + half}};
  list->AddPolyline(points, 3, colour, 0, px(1.6f));
}

void draw_icon(TransportIcon icon, ImVec2 c, Colour colour) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float half = px(5);
  if (icon == TransportIcon::play) {
    list->AddTriangleFilled({c.x - half * 0.7f, c.y - half}, {c.x - half * 0.7f, c.y + half}, {c.x + half, c.y}, colour);
  } else if (icon == TransportIcon::pause) {
    for (const float x : {c.x - half * 0.8f, c.x + half * 0.2f})
      list->AddRectFilled({x, c.y - half}, {x + half * 0.6f, c.y + half}, colour);
  } else {
    const bool back = icon == TransportIcon::first || icon == TransportIcon::previous,
               end = icon == TransportIcon::first || icon == TransportIcon::last;
    const float way = back ? -1.0f : 1.0f;
    draw_chevron(list, {c.x - (end ? way * px(1.5f) : 0), c.y}, way, colour);
    if (end) list->AddLine({c.x + way * px(4), c.y - half}, {c.x + way * px(4), c.y + half}, colour, px(1.6f));
  }
}

}  // namespace

float transport_width() { return px(26); }

bool transport_button(const char* id, TransportIcon icon, bool on) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), size{transport_width(), px(control_height)};
  const bool pressed = push_button(id, on, size);
  draw_icon(icon, {at.x + size.x / 2, at.y + size.y / 2}, on ? colours().panel : colours().text);
  return pressed;
}

bool mark_button(const char* id, bool forward, Colour mark) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), size{px(21), px(control_height)};
  const bool pressed = push_button(id, false, size);
  const float way = forward ? 1.0f : -1.0f;
  const ImVec2 c{at.x + size.x / 2, at.y + size.y / 2};
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_chevron(list, {c.x - way * px(4), c.y}, way, ImGui::GetColorU32(colours().text));
  list->AddCircleFilled({c.x + way * px(4), c.y}, px(3), ImGui::GetColorU32(mark));
  return pressed;
}

}  // namespace attoscope
