// Buttons and slider of the tile whose step is worked out.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ui/recurrence/recurrence.h"
#include "ui/recurrence/tile_range.h"
#include "ui/widgets/transport.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

void draw_buttons(View& view, Playback& playback, const Result& r, const Palette& colours) {
  struct Button {
    const char* id;
    TransportIcon icon;
    int by;
    const char* what;
  };
  static constexpr std::array<Button, 4> steps{{
      {"###first tile", TransportIcon::first, -max_n, "To the row's first tile. Key Shift+, (comma)."},
      {"###previous tile", TransportIcon::previous, -1, "One tile back. Key , (comma)."},
      {"###next tile", TransportIcon::next, 1, "One tile forward. Key . (period)."},
      {"###last tile", TransportIcon::last, max_n,
       "To the last tile, and stay there when the tiles change. Key Shift+. (period)."},
  }};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i == 2) {
      if (transport_button("###play", playback.playing ? TransportIcon::pause : TransportIcon::play, playback.playing, colours))
        play_or_pause(playback, view, &r, ImGui::GetTime());
      explain("Plays the recurrence, four tiles a second, to the last tile; then, or when pressed again, it stops. Key J.",
              "for each tile j:\n  m, l, O <- step(m, l, O, K_j, V_j)");
      ImGui::SameLine();
    }
    if (transport_button(steps[i].id, steps[i].icon, false, colours)) {
      playback.playing = false;
      scrub(view, &r, steps[i].by);
    }
    explain(steps[i].what);
    ImGui::SameLine();
  }
}

/// To the tiles of the row in which m moved, and in which a number met its limit.
void draw_event_buttons(View& view, Playback& playback, const Result& r, const Palette& colours) {
  struct Button {
    const char* id;
    TileEvent event;
    int by;
    const char* what;
  };
  static constexpr std::array<Button, 4> steps{{
      {"###previous rescale", TileEvent::rescale, -1,
       "To the previous tile in which m of this row moved, so that l and O were rescaled. Key Ctrl+, (comma)."},
      {"###next rescale", TileEvent::rescale, 1,
       "To the next tile in which m of this row moved, so that l and O were rescaled. Key Ctrl+. (period)."},
      {"###previous limit", TileEvent::limit, -1,
       "To the previous tile in which P, m or l of this row met the largest number of its format, or one of them or |O| is not "
       "finite. Key Ctrl+Shift+, (comma)."},
      {"###next limit", TileEvent::limit, 1,
       "To the next tile in which P, m or l of this row met the largest number of its format, or one of them or |O| is not "
       "finite. Key Ctrl+Shift+. (period)."},
  }};
  for (const Button& b : steps) {
    const bool possible = tile_with(r, view, b.event, b.by) >= 0;
    ImGui::BeginDisabled(!possible);
    if (mark_button(b.id, b.by > 0, b.event == TileEvent::rescale ? colours.moved : colours.bad, colours)) {
      playback.playing = false;
      scrub_to_event(view, &r, b.event, b.by);
    }
    ImGui::EndDisabled();
    explain(possible ? b.what : std::string(b.what) + " There is none.");
    ImGui::SameLine();
  }
}

/// Shows all tiles again.
void draw_all_button(View& view, const Result& r, const Palette& colours) {
  ImGui::BeginDisabled(shows_all_tiles(r, view));
  if (push_button("all###all tiles", colours, false, {px(34), px(control_height)})) view.tiles = {};
  ImGui::EndDisabled();
  explain(
      "Shows all tiles. In the plots the wheel zooms, Shift and a drag select what to zoom to, the right button moves the "
      "tiles, and a double click shows all.");
  ImGui::SameLine();
}

constexpr float beside = 36, under_width = 880, two_lines_width = 520;

/// Of the worked step where it stands under the buttons.
int stacked_lines(float width) { return width < px(two_lines_width) ? 4 : 2; }

}  // namespace

float scrubber_height(float width) {
  return width < px(under_width) ? px(beside + 18) + px(18) * static_cast<float>(stacked_lines(width) - 1) : px(beside);
}

void draw_scrubber(View& view, Playback& playback, const Result& r, ImVec2 at, ImVec2 size, const Palette& colours,
                   bool zooms) {
  const auto& tiles = r.trace.tiles;
  const int index = scrubbed(r, view), count = static_cast<int>(tiles.size());
  const bool stacked = size.y > px(beside);
  const float y = at.y + (px(beside) - px(control_height)) / 2;
  ImGui::SetCursorScreenPos({at.x, y});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(2), 0});
  draw_buttons(view, playback, r, colours);
  if (size.x > px(two_lines_width)) draw_event_buttons(view, playback, r, colours);
  if (zooms) draw_all_button(view, r, colours);
  ImGui::PopStyleVar();
  const std::string last = std::to_string(tiles.back().tile);
  const std::string text =
      fmt::format("tile {:{}} of {}", tiles[static_cast<std::size_t>(index)].tile, static_cast<int>(last.size()), last);
  float x = ImGui::GetCursorScreenPos().x + px(8);
  x += draw_text({x, y + (px(control_height) - line_height(Face::mono)) / 2}, Face::mono, colours.text, text) + px(8);
  ImGui::SetCursorScreenPos({x, y});
  const float after = stacked ? 0 : px(16 + 520);  // the formula needs room more than the track
  const float length = std::clamp(at.x + size.x - x - after, px(40), px(stacked ? 320 : 96));
  int shown = index;
  if (track({"tile", 0, std::max(1, count - 1), 0, count - 1}, colours, shown, {length, px(control_height)}))
    scrub(view, &r, shown - index);
  explain("The tile whose step is written out beside it and shaded in the plots. Tiles are counted from key 0.");
  if (stacked) return draw_worked(r, scrubbed(r, view), {at.x, at.y + px(beside + 2)}, size.x, colours, stacked_lines(size.x));
  x += length + px(16);
  draw_worked(r, scrubbed(r, view), {x, at.y + (size.y - px(18) - line_height(Face::mono_small)) / 2}, at.x + size.x - x,
              colours);
}

}  // namespace attoscope
