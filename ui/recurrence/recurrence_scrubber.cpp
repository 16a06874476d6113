// Buttons and slider of the scrubbed tile.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "ui/recurrence/recurrence.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

/// A button that moves the scrubber by tiles, or to a tile with an event.
struct StepButton {
  const char* id;
  int by;
  const char* what;
  TransportIcon icon = TransportIcon::next;
  std::optional<TileEvent> event{};
};
constexpr std::size_t plain_steps = 4;  ///< number of them that step by tiles; the play button is in their middle
constexpr std::array<StepButton, 8> steps{{
    {"###first tile", -max_n, "To the row's first tile. Key Shift+, (comma).", TransportIcon::first},
    {"###previous tile", -1, "One tile back. Key , (comma).", TransportIcon::previous},
    {"###next tile", 1, "One tile forward. Key . (period).", TransportIcon::next},
    {"###last tile", max_n, "To the last tile, and stay there when the tiles change. Key Shift+. (period).",
     TransportIcon::last},
    {.id = "###previous rescale",
     .by = -1,
     .what = "To the previous tile in which m of this row moved, so that l and O were rescaled. Key Ctrl+, (comma).",
     .event = TileEvent::rescale},
    {.id = "###next rescale",
     .by = 1,
     .what = "To the next tile in which m of this row moved, so that l and O were rescaled. Key Ctrl+. (period).",
     .event = TileEvent::rescale},
    {.id = "###previous limit",
     .by = -1,
     .what = "To the previous tile in which P, m or l of this row met the largest number of its format, or one of them or |O| "
             "is not finite. Key Ctrl+Shift+, (comma).",
     .event = TileEvent::limit},
    {.id = "###next limit",
     .by = 1,
     .what = "To the next tile in which P, m or l of this row met the largest number of its format, or one of them or |O| is "
             "not finite. Key Ctrl+Shift+. (period).",
     .event = TileEvent::limit},
}};

bool step_button(const StepButton& b) {
  if (!b.event) return transport_button(b.id, b.icon, false);
  return mark_button(b.id, b.by > 0, *b.event == TileEvent::rescale ? colours().moved : colours().bad);
}

void draw_step(const StepButton& b, View& view, Playback& playback, const StripSteps& tiles) {
  const Result* const r = tiles.recurrence();
  const bool possible = !b.event || tile_with(*r, view, *b.event, b.by) >= 0;
  ImGui::BeginDisabled(!possible);
  if (step_button(b)) {
    playback.playing = false;
    b.event ? scrub_to_event(view, r, *b.event, b.by) : scrub(view, tiles, b.by);
  }
  ImGui::EndDisabled();
  explain(possible ? b.what : std::string(b.what) + " There is none.");
  ImGui::SameLine();
}

void draw_play(View& view, Playback& playback, const StripSteps& tiles) {
  const TransportIcon icon = playback.playing ? TransportIcon::pause : TransportIcon::play;
  if (transport_button("###play", icon, playback.playing)) play_or_pause(playback, view, tiles, ImGui::GetTime());
  explain("Plays the tiles to the last one; then, or when pressed again, it stops. Key J.",
          tiles.recurrence() != nullptr ? "for each tile j:\n  m, l, O <- step(m, l, O, K_j, V_j)" : "");
  ImGui::SameLine();
}

/// Button that shows all tiles.
void draw_all_button(View& view, const StripSteps& tiles) {
  ImGui::BeginDisabled(shows_all_tiles(tiles, view));
  if (push_button("all###all tiles", false, {px(34), px(control_height)})) view.tiles = {};
  ImGui::EndDisabled();
  explain("Shows all tiles. In the plots the wheel zooms, a drag moves the tiles, and a double click shows all.");
  ImGui::SameLine();
}

constexpr float slider_height = 16, beside = control_height + slider_height, under_width = 880, two_lines_width = 520;

/// Lines of the worked step under the buttons.
int stacked_lines(float width) { return width < px(two_lines_width) ? 4 : 2; }

/// All buttons in a row; `events`: including those that go to events.
void draw_buttons(View& view, Playback& playback, const StripSteps& tiles, bool events, bool zooms) {
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(2), 0});
  for (std::size_t i = 0; i < (events ? steps.size() : plain_steps); ++i) {
    if (i == plain_steps / 2) draw_play(view, playback, tiles);
    draw_step(steps[i], view, playback, tiles);
  }
  if (zooms) draw_all_button(view, tiles);
  ImGui::PopStyleVar();
}

void draw_slider(View& view, const StripSteps& tiles, ImVec2 at, ImVec2 size) {
  const int index = scrubbed(tiles, view), count = tiles.count();
  int shown = index;
  ImGui::SetCursorScreenPos(at);
  if (track({"tile", 0, std::max(1, count - 1), 0, count - 1}, shown, size)) scrub(view, tiles, shown - index);
  explain(tiles.recurrence() != nullptr
              ? "The tile whose step is written out beside it and shaded in the plots. Tiles are counted from key 0."
              : "The tile whose step is written out beside it and shaded in the plots, in the order in which they are added.");
}

/// "tile  7 (0 to 15)", of constant width.
std::string tile_text(const Result& r, int index) {
  const auto& tiles = r.trace.tiles;
  const std::string last = std::to_string(tiles.back().tile);
  return fmt::format("tile {:{}} (0 to {})", tiles[static_cast<std::size_t>(index)].tile, static_cast<int>(last.size()), last);
}

}  // namespace

float scrubber_height(float width) {
  return width < px(under_width) ? px(54) + px(18) * static_cast<float>(stacked_lines(width) - 1) : px(beside);
}

void draw_scrubber(View& view, Playback& playback, const StripSteps& tiles, const std::string& tile, const SayStep& say,
                   ImVec2 at, ImVec2 size, bool zooms) {
  const bool stacked = size.y > px(beside);
  const float y = at.y + (stacked ? px(6) : 0);
  ImGui::SetCursorScreenPos({at.x, y});
  draw_buttons(view, playback, tiles, tiles.recurrence() != nullptr && size.x > px(two_lines_width), zooms);
  float x = ImGui::GetCursorScreenPos().x + px(8);
  x += draw_text({x, y + (px(control_height) - line_height(Face::mono)) / 2}, Face::mono, colours().text, tile) + px(8);
  if (stacked) {
    draw_slider(view, tiles, {x, y}, {std::clamp(at.x + size.x - x, px(12), px(320)), px(control_height)});
    return say({at.x, at.y + px(38)}, size.x, stacked_lines(size.x));
  }
  draw_slider(view, tiles, {at.x, y + px(control_height)}, {x - px(8) - at.x, px(slider_height)});
  x += px(8);
  say({x, at.y + (size.y - px(18) - line_height(Face::mono_small)) / 2}, at.x + size.x - x, 2);
}

void draw_scrubber(View& view, Playback& playback, const Result& r, ImVec2 at, ImVec2 size, bool zooms) {
  const auto say = [&](ImVec2 there, float width, int lines) { draw_worked(r, scrubbed(r, view), there, width, lines); };
  draw_scrubber(view, playback, r, tile_text(r, scrubbed(r, view)), say, at, size, zooms);
}

}  // namespace attoscope::ui
