// Buttons and slider of the tile whose step is worked out.
#include <algorithm>
#include <array>

#include "ui/numbers.h"
#include "ui/recurrence.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

enum class Icon { first, previous, play, pause, next, last };

/// A triangle or a chevron that points right (or left: `way` -1), its middle at `c`.
void draw_chevron(ImDrawList* list, ImVec2 c, float way, Colour colour) {
  const float half = px(4.5f);
  const ImVec2 points[3] = {
      {c.x - way * half / 2, c.y - half}, {c.x + way * half / 2, c.y}, {c.x - way * half / 2, c.y + half}};
  list->AddPolyline(points, 3, colour, 0, px(1.6f));
}

void draw_icon(Icon icon, ImVec2 c, Colour colour) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float half = px(5);
  if (icon == Icon::play) {
    list->AddTriangleFilled({c.x - half * 0.7f, c.y - half}, {c.x - half * 0.7f, c.y + half}, {c.x + half, c.y}, colour);
  } else if (icon == Icon::pause) {
    for (const float x : {c.x - half * 0.8f, c.x + half * 0.2f})
      list->AddRectFilled({x, c.y - half}, {x + half * 0.6f, c.y + half}, colour);
  } else {
    const bool back = icon == Icon::first || icon == Icon::previous, end = icon == Icon::first || icon == Icon::last;
    const float way = back ? -1.0f : 1.0f;
    draw_chevron(list, {c.x - (end ? way * px(1.5f) : 0), c.y}, way, colour);
    if (end) list->AddLine({c.x + way * px(4), c.y - half}, {c.x + way * px(4), c.y + half}, colour, px(1.6f));
  }
}

bool icon_button(const char* id, Icon icon, bool on, const Palette& colours) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), size{px(26), px(control_height)};
  const bool pressed = push_button(id, colours, on, size);
  draw_icon(icon, {at.x + size.x / 2, at.y + size.y / 2}, on ? colours.panel : colours.text);
  return pressed;
}

void draw_buttons(View& view, Playback& playback, const Result& r, const Palette& colours) {
  struct Button {
    const char* id;
    Icon icon;
    int by;
    const char* what;
  };
  static constexpr std::array<Button, 4> steps{{
      {"###first tile", Icon::first, -max_n, "To the row's first tile. Key Shift+, (comma)."},
      {"###previous tile", Icon::previous, -1, "One tile back. Key , (comma)."},
      {"###next tile", Icon::next, 1, "One tile on. Key . (period)."},
      {"###last tile", Icon::last, max_n, "To the last tile, and stay there when the tiles change. Key Shift+. (period)."},
  }};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i == 2) {
      if (icon_button("###play", playback.playing ? Icon::pause : Icon::play, playback.playing, colours))
        play_or_pause(playback, view, &r, ImGui::GetTime());
      explain("Plays the recurrence, four tiles a second, to the last tile; then, or when pressed again, it stops. Key J.",
              "for each tile j:\n  m, l, O <- step(m, l, O, K_j, V_j)");
      ImGui::SameLine();
    }
    if (icon_button(steps[i].id, steps[i].icon, false, colours)) {
      playback.playing = false;
      scrub(view, &r, steps[i].by);
    }
    explain(steps[i].what);
    ImGui::SameLine();
  }
}

}  // namespace

void draw_scrubber(View& view, Playback& playback, const Result& r, ImVec2 at, ImVec2 size, const Palette& colours) {
  const auto& tiles = r.trace.tiles;
  const int index = scrubbed(r, view), count = static_cast<int>(tiles.size());
  const float y = at.y + (size.y - px(control_height)) / 2;
  ImGui::SetCursorScreenPos({at.x, y});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(2), 0});
  draw_buttons(view, playback, r, colours);
  ImGui::PopStyleVar();
  const std::string last = std::to_string(tiles.back().tile);
  const std::string text =
      printed("tile %*d of %s", static_cast<int>(last.size()), tiles[static_cast<std::size_t>(index)].tile, last.c_str());
  float x = ImGui::GetCursorScreenPos().x + px(8);
  x += draw_text({x, y + (px(control_height) - line_height(Face::mono)) / 2}, Face::mono, colours.text, text) + px(8);
  ImGui::SetCursorScreenPos({x, y});
  const float length = std::clamp(at.x + size.x - x - px(16 + 300), px(40), px(96));  // the formula needs room more than the track
  int shown = index;
  if (track({"tile", 0, std::max(1, count - 1), 0, count - 1}, colours, shown, {length, px(control_height)}))
    scrub(view, &r, shown - index);
  explain("The tile whose step is worked out at the right and shaded in the plots. Tiles are counted from key 0.");
  x += length + px(16);
  draw_worked(r, scrubbed(r, view), {x, at.y + (size.y - px(18) - line_height(Face::mono_small)) / 2}, at.x + size.x - x,
              colours);
}

}  // namespace attoscope
