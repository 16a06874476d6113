// The bottom panel: how the running state of one row came to be, tile by tile.
#include "ui/recurrence/recurrence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/stale.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

int scrubbed(const Result& result, const View& view) {
  const auto& tiles = result.trace.tiles;
  if (tiles.empty()) return -1;
  if (view.scrubbed_tile < 0) return static_cast<int>(tiles.size()) - 1;
  const auto at = std::lower_bound(tiles.begin(), tiles.end(), view.scrubbed_tile,
                                   [](const TraceTile& t, int tile) { return t.tile < tile; });
  return static_cast<int>(std::min<std::ptrdiff_t>(at - tiles.begin(), static_cast<std::ptrdiff_t>(tiles.size()) - 1));
}

void scrub(View& view, const Result* result, int by) {
  if (result == nullptr || result->trace.tiles.empty()) return;
  const int count = static_cast<int>(result->trace.tiles.size());
  const int index = std::clamp(scrubbed(*result, view) + std::clamp(by, -count, count), 0, count - 1);
  view.scrubbed_tile = index == count - 1 ? -1 : result->trace.tiles[static_cast<std::size_t>(index)].tile;
}

void scrub_to(View& view, const Result& result, double tile) {
  const auto& tiles = result.trace.tiles;
  if (tiles.empty()) return;
  const double first = tiles.front().tile, last = tiles.back().tile;
  view.scrubbed_tile = tile >= last ? -1 : static_cast<int>(std::max(first, tile));
}

namespace {

constexpr double seconds_a_tile = 0.25;

bool at_the_last(const View& view, const Result& r) { return scrubbed(r, view) + 1 >= static_cast<int>(r.trace.tiles.size()); }

}  // namespace

void play_or_pause(Playback& playback, View& view, const Result* result, double now) {
  const bool starts = !playback.playing && result != nullptr && result->trace.tiles.size() > 1;
  playback = {starts, now + seconds_a_tile};
  if (starts && at_the_last(view, *result)) scrub_to(view, *result, 0);
}

bool advance(Playback& playback, View& view, const Result* result, double now) {
  if (!playback.playing) return false;
  if (now - playback.next_step > 1) playback.next_step = now;  // the window was not drawn meanwhile
  for (; now >= playback.next_step; playback.next_step += seconds_a_tile) scrub(view, result, 1);
  playback.playing = result != nullptr && !at_the_last(view, *result);
  return playback.playing;
}

std::string why_no_recurrence(const PanelInput& input) {
  const Result* r = input.answer.result.get();
  if (r == nullptr) return input.answer.computing ? "computing" : "no answer yet";
  switch (r->experiment.a.algorithm) {
    case Algorithm::loaded:
      return "A loaded output has no recurrence: only a method computed here can be followed tile by tile.";
    case Algorithm::hardware:
      return "Tensor cores do not show their running state: choose an emulated method for a to follow it tile by tile.";
    case Algorithm::three_pass:
      return "Three passes: the max is known before the first exp, so there is no recurrence and nothing is rescaled.";
    default:
      break;
  }
  if (r->trace.tiles.empty())
    return fmt::format("Row {} sees no key: its output is zero, and there is nothing to follow.", r->trace.row);
  if (r->rescales.tiles <= 1)
    return "One tile holds every key: this is plain softmax. Make block_k smaller than N to see the recurrence.";
  return {};
}

void draw_recurrence(Session& session, const PanelInput& input, UiState& state, const Palette& colours, Requests& requests) {
  refresh_strip(state.strip, input.answer.result);
  const Result* r = input.answer.result.get();
  requests.animate |= advance(state.playback, session.view, r, ImGui::GetTime());
  const std::string why = why_no_recurrence(input);
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  if (why.empty()) {
    const float scrubber = scrubber_height(room.x), foot = scrubber + px(8);
    draw_recurrence_plots(session.view, state.strip, strip_plots(session.view), {room.x, room.y - foot}, colours);
    draw_scrubber(session.view, state.playback, *r, {at.x, at.y + room.y - scrubber}, {room.x, scrubber}, colours);
  } else {
    const float width = std::min(room.x, px(720)), left = at.x + (room.x - std::min(width, text_width(Face::label, why))) / 2;
    ImGui::PushStyleColor(ImGuiCol_Text, colours.secondary);
    ImGui::SetCursorScreenPos({left, at.y + room.y / 2 - px(48)});
    ImGui::BeginGroup();
    wrapped(Face::label, why, width + 1);
    ImGui::EndGroup();
    ImGui::PopStyleColor();
    if (r != nullptr && !r->trace.tiles.empty())
      draw_worked(*r, static_cast<int>(r->trace.tiles.size()) - 1, {at.x + (room.x - width) / 2, at.y + room.y / 2}, width,
                  colours);
  }
  dim_if_stale(input, colours);
}

}  // namespace attoscope
