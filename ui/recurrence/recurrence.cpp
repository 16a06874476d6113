// The bottom panel: the running state of one row, tile by tile.
#include "ui/recurrence/recurrence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/recurrence/kernel_rows.h"
#include "ui/recurrence/tile_range.h"
#include "ui/widgets/stale.h"
#include "ui/widgets/widgets.h"
#include "ui/words/sentences.h"

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
  const int tile = result->trace.tiles[static_cast<std::size_t>(index)].tile;
  view.scrubbed_tile = index == count - 1 ? -1 : tile;
  reveal_tile(view, *result, tile);
}

void scrub_to(View& view, const Result& result, double tile) {
  const auto& tiles = result.trace.tiles;
  if (tiles.empty()) return;
  const double first = tiles.front().tile, last = tiles.back().tile;
  view.scrubbed_tile = tile >= last ? -1 : static_cast<int>(std::max(first, tile));
  reveal_tile(view, result, static_cast<int>(std::clamp(tile, first, last)));
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
  if (now - playback.next_step > 1) playback.next_step = now;  // no frame was drawn for a while
  for (; now >= playback.next_step; playback.next_step += seconds_a_tile) scrub(view, result, 1);
  playback.playing = result != nullptr && !at_the_last(view, *result);
  return playback.playing;
}

namespace {

/// Reason why a of an answer has no recurrence; empty if it has one.
std::string why_none(const Result& r) {
  switch (r.experiment.a.algorithm) {
    case Algorithm::loaded:
      return "A loaded output has no recurrence: only a method computed here can be followed tile by tile.";
    case Algorithm::hardware:
      return "Tensor cores do not show their running state: choose an emulated method for a to follow it tile by tile.";
    case Algorithm::three_pass:
      return "Three passes: the max is known before the first exp, so there is no recurrence and nothing is rescaled.";
    default:
      break;
  }
  if (!r.holds.trace) return "computing";
  if (r.trace.tiles.empty())
    return fmt::format("Row {} sees no key: its output is zero, and there is nothing to follow.", r.trace.row);
  if (r.rescales.tiles <= 1)
    return "One tile holds every key: this is plain softmax. Make block_k smaller than N to see the recurrence.";
  return {};
}

}  // namespace

std::string why_no_recurrence(const PanelInput& input) {
  const std::shared_ptr<const Result> shown = recurrence_answer(input);
  if (!shown) return input.answer.computing ? "computing" : "no answer yet";
  const std::string why = why_none(*shown);
  const bool of_b = shown != input.answer.result;
  return of_b && !why.empty() ? "A loaded output has no recurrence, and b has none to show instead. " + why : why;
}

namespace {

/// Tooltip: b's recurrence stands for a loaded output's, and the output's verdict in this row.
std::string words_for_b(const PanelInput& input, const Result& shown) {
  const std::string name = method_names(input.answer.result->experiment).b;
  const CallJudgement* const found = shown_verdict(input);
  const bool fails = found != nullptr && std::ranges::binary_search(found->worst_row().found.wrong_rows, shown.trace.row);
  return fmt::format("b's recurrence ({}), in b's colour: a is your kernel's output, which has none.", name) +
         (fails ? fmt::format(" In row {} your kernel is wrong.", shown.trace.row) : "");
}

/// A sentence instead of the plots, and below it the numbers of a single tile or of three passes.
void draw_why_none(const std::string& why, const Result* r, ImVec2 at, ImVec2 room, const Palette& colours) {
  const float width = std::min(room.x, px(720)), left = at.x + (room.x - std::min(width, text_width(Face::label, why))) / 2;
  ImGui::PushStyleColor(ImGuiCol_Text, colours.secondary);
  ImGui::SetCursorScreenPos({left, at.y + room.y / 2 - px(48)});
  ImGui::BeginGroup();
  wrapped(Face::label, why, width + 1);
  ImGui::EndGroup();
  ImGui::PopStyleColor();
  const float below = std::max(at.y + room.y / 2, ImGui::GetItemRectMax().y + px(8));
  if (r != nullptr && !r->trace.tiles.empty())
    draw_worked(*r, static_cast<int>(r->trace.tiles.size()) - 1, {at.x + (room.x - width) / 2, below}, width, colours);
}

/// True while the verdict on a loaded output is missing; its plot keeps its place.
bool awaits_kernel_rows(const PanelInput& input) {
  return input.answer.result && has_loaded(input.answer.result->experiment) && shown_verdict(input) == nullptr;
}

/// True if the other method than the loaded output has no recurrence, so that only a sentence stands beside its rows.
bool rows_stand_alone(const PanelInput& input) {
  if (!input.answer.result) return false;
  const Experiment& e = input.answer.result->experiment;
  const Algorithm followed = e.a.algorithm == Algorithm::loaded ? e.b.algorithm : e.a.algorithm;
  return followed == Algorithm::three_pass || !is_emulated(followed);
}

/// A button that makes b flash2, if a is loaded and b has no recurrence.
void offer_flash(Session& session, const PanelInput& input, ImVec2 at, ImVec2 room, const Palette& colours) {
  if (!is_a_loaded(input) || !rows_stand_alone(input)) return;
  Method& b = session.experiment.b;
  const float width = px(150);
  ImGui::SetCursorScreenPos({at.x + std::max(0.0f, (room.x - width) / 2), at.y + room.y - px(control_height + 8)});
  if (push_button("follow flash2 as b###follow flash", colours, false, {width, 0})) {
    Method flash = default_experiment().a;
    flash.block_q = b.block_q, flash.block_k = b.block_k;
    b = flash;
  }
  explain("Makes b FlashAttention 2 as GPUs round it: the recurrence of the traced row then stands here, tile by tile.");
}

/// Draws the rows of a loaded output at the right; returns the remaining size.
ImVec2 beside_kernel_rows(Session& session, const PanelInput& input, UiState& state, ImVec2 at, ImVec2 room,
                          const Palette& colours) {
  if (!state.kernel_rows) state.kernel_rows = std::make_shared<KernelRows>();
  KernelRows& rows = *state.kernel_rows;
  const bool awaited = awaits_kernel_rows(input);
  if (!refresh_kernel_rows(rows, input) && !awaited) return room;
  const float width = std::floor(rows_stand_alone(input) ? room.x * 0.6f : std::clamp(room.x * 0.22f, px(120), px(320))),
              left = room.x - width - px(16);
  const ImVec2 right{at.x + left + px(16), at.y};
  if (rows.found && (!awaited || rows.found->experiment.loaded == input.answer.result->experiment.loaded))
    draw_kernel_rows(session, rows, right, {width, room.y}, colours);
  else
    draw_text(right, Face::label, colours.faint, fitted(Face::label, "Your kernel by rows: being computed", width));
  return {left, room.y};
}

/// Name of b, over the top of the first plot so that nothing below moves.
void draw_words_for_b(const PanelInput& input, const Result& shown, ImVec2 at, float width, const Palette& colours) {
  const std::string words = "b: " + method_names(input.answer.result->experiment).b;
  const std::string text = fitted(Face::small, words, width - px(8));
  const ImVec2 size{text_width(Face::small, text) + px(8), line_height(Face::small) + px(4)};
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + size.x, at.y + size.y}, faded(colours.background, 0.9f), px(3));
  draw_text({at.x + px(4), at.y + px(2)}, Face::small, colours.b, text);
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy(size);
  explain(words_for_b(input, shown));
}

}  // namespace

float draw_recurrence(Session& session, const PanelInput& input, UiState& state, const Palette& colours, Requests& requests) {
  const std::shared_ptr<const Result> shown = recurrence_answer(input);
  const bool of_b = shown != input.answer.result;
  requests.side.b_as_a |= follows_b(input) && !of_b;
  refresh_strip(state.strip, shown, session.view.hidden_curves, of_b);
  requests.animate |= advance(state.playback, session.view, shown.get(), ImGui::GetTime());
  const std::string why = follows_b(input) && !of_b ? "b's recurrence is being computed." : why_no_recurrence(input);
  const ImVec2 at = ImGui::GetCursorScreenPos(), all = ImGui::GetContentRegionAvail();
  const float scrubber = scrubber_height(all.x), foot = why.empty() ? scrubber + px(8) : 0;
  const ImVec2 room = beside_kernel_rows(session, input, state, at, {all.x, all.y - foot}, colours);
  if (!why.empty()) {
    draw_why_none(why, shown.get(), at, room, colours);
    offer_flash(session, input, at, room, colours);
    dim_if_stale(input, colours);
    return room.x;
  }
  Palette theirs = colours;
  if (of_b) std::swap(theirs.a, theirs.b);
  show_axes(state.strip, shown_tiles(*shown, session.view));
  ImGui::SetCursorScreenPos(at);
  draw_recurrence_plots(session.view, state.strip, strip_plots(session.view), room, theirs, &state.strip_mouse);
  draw_scrubber(session.view, state.playback, *shown, {at.x, at.y + all.y - scrubber}, {all.x, scrubber}, theirs, true);
  if (of_b) draw_words_for_b(input, *shown, {at.x + px(48), at.y + px(42)}, room.x / 5, colours);
  dim_if_stale(input, colours);
  return room.x;
}

}  // namespace attoscope
