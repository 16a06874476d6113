// The bottom panel: the running state of one row, tile by tile.
#include "ui/recurrence/recurrence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ui/widgets/progress.h"
#include "ui/widgets/widgets.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

constexpr double seconds_a_tile = 0.25;

bool at_the_last(const View& view, const StripSteps& steps) { return scrubbed(steps, view) + 1 >= steps.count(); }

/// Names the tile in which the row of a wrong output parts from the followed row.
std::string parting_words(const CallJudgement& call, const Result& followed, const Parting& parting) {
  const int row = followed.trace.row;
  if (!std::ranges::binary_search(call.worst_row().found.wrong_rows, row))
    return fmt::format("Row {} is rounded", row) +
           (call.worst_row().found.first_row < 0
                ? "."
                : fmt::format("; the first wrong row is {}.", call.worst_row().found.first_row));
  if (parting.by == Parting::By::keys)
    return fmt::format("Row {} parts in tile {}: it holds key {}, the first wrong key.", row, parting.tile, parting.key);
  if (parting.by == Parting::By::prefix)
    return fmt::format("Row {} parts in tile {}: O is the result of the tiles before it.", row, parting.tile);
  return fmt::format("Row {} is wrong; its O alone does not show in which tile.", row);
}

/// A sentence instead of the plots, and below it the numbers of a single tile or of three passes.
void draw_why_none(const std::string& why, const Result* r, ImVec2 at, ImVec2 room) {
  const float width = std::min(room.x, px(720)), left = at.x + (room.x - std::min(width, text_width(Face::label, why))) / 2;
  ImGui::SetCursorScreenPos({left, at.y + room.y / 2 - px(48)});
  paragraph(Face::label, colours().secondary, why, width + 1);
  const float below = std::max(at.y + room.y / 2, ImGui::GetItemRectMax().y + px(8));
  if (r != nullptr && !r->trace.tiles.empty())
    draw_worked(*r, static_cast<int>(r->trace.tiles.size()) - 1, {at.x + (room.x - width) / 2, below}, width);
}

/// Draws the rows of a loaded output at the right; their place is kept while the verdict is missing. Returns the remaining
/// room.
ImVec2 beside_kernel_rows(Session& session, const PanelInput& input, UiState& state, ImVec2 at, ImVec2 room) {
  if (!state.kernel_rows) state.kernel_rows = std::make_shared<KernelRows>();
  KernelRows& rows = *state.kernel_rows;
  const bool awaited = input.answer.result && has_loaded(input.answer.result->experiment) && shown_verdict(input) == nullptr;
  if (!refresh_kernel_rows(rows, input) && !awaited) return room;
  const float width = std::floor(std::clamp(room.x * 0.22f, px(120), px(320))), left = room.x - width - px(16);
  const ImVec2 right{at.x + left + px(16), at.y};
  if (rows.found && (!awaited || rows.found->experiment.loaded == input.answer.result->experiment.loaded))
    draw_kernel_rows(session, rows, right, {width, room.y});
  else
    draw_fitted(right, Face::label, colours().faint, "Your kernel by rows: being computed", width);
  return {left, room.y};
}

/// Draws over the top of the first plots the name of the followed method, and the tile in which the output's row parts from it.
/// Nothing below moves.
void draw_followed_name(const PanelInput& input, const Result& shown, const Parting& parting, ImVec2 at, float width) {
  const CallJudgement* const call = shown_verdict(input);
  const std::string_view name = followed_name(input.answer.result->experiment);
  const bool is_meant = name == "flash2";
  const std::string whose = (is_meant ? "" : std::string(name) + ": ") + method_names(shown.experiment).a;
  const bool known = call != nullptr && call->incomparable().empty() && shown_followed(input) != nullptr;
  const std::string words = known ? parting_words(*call, shown, parting) : "";
  const float inner = width - px(8), line = line_height(Face::small);
  const std::string_view drawn = words_in(words, inner);
  const ImVec2 size{width, line + (drawn.empty() ? 0 : wrapped_height(Face::small, drawn, inner)) + px(4)};
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + size.x, at.y + size.y}, faded(colours().background, 0.9f), px(3));
  draw_fitted({at.x + px(4), at.y + px(2)}, Face::small, colours().a, whose, inner);
  draw_wrapped({at.x + px(4), at.y + px(2) + line}, Face::small, parting.tile >= 0 ? colours().bad : colours().secondary, drawn,
               inner);
  take_room(at, size);
  explain("The recurrence of " + std::string(is_meant ? "FlashAttention 2 as GPUs round it, with b's tiles" : name) +
          ", which your kernel should compute: a loaded output has no recurrence. " + words);
}

constexpr double least_tiles = 1;

/// The largest number of a step's format; infinite if the step is not rounded.
double limit_of(const Experiment& e, Step step) {
  const Rounding& r = e.a.precision[step];
  return r.kind == Rounding::Kind::exact ? std::numeric_limits<double>::infinity() : largest<double>(format_of(r, e.format));
}

bool is_within(double x, double limit) { return std::isfinite(x) && std::abs(x) < limit; }

/// Centres the range on the tile if the tile is outside.
void reveal_tile(View& view, const StripSteps& steps, int tile) {
  const TileRange now = shown_tiles(steps, view);
  const double half = (now.to - now.from) / 2;
  if (tile + 0.5 <= now.from || tile - 0.5 >= now.to) show_tiles(view, steps, {tile - half, tile + half});
}

}  // namespace

StripSteps::StripSteps(const Result& result)
    : of_(&result), count_(static_cast<int>(result.trace.tiles.size())), all_(all_tiles(result)) {}
StripSteps::StripSteps(const Result* result) {
  if (result != nullptr) *this = StripSteps(*result);
}
StripSteps::StripSteps(int first, int count)
    : first_(first), count_(count), all_{first - 0.5, first + std::max(1, count) - 0.5} {}

int StripSteps::place(int i) const { return of_ != nullptr ? of_->trace.tiles[static_cast<std::size_t>(i)].tile : first_ + i; }

int scrubbed(const StripSteps& steps, const View& view) {
  if (view.scrubbed_tile < 0) return steps.count() - 1;
  int at = 0;
  for (int end = steps.count(); at < end;) {
    const int middle = at + (end - at) / 2;
    steps.place(middle) < view.scrubbed_tile ? at = middle + 1 : end = middle;
  }
  return std::min(at, steps.count() - 1);
}

void scrub(View& view, const StripSteps& steps, int by) {
  const int count = steps.count();
  if (count == 0) return;
  const int index = std::clamp(scrubbed(steps, view) + std::clamp(by, -count, count), 0, count - 1);
  view.scrubbed_tile = index == count - 1 ? -1 : steps.place(index);
  reveal_tile(view, steps, steps.place(index));
}

void scrub_to(View& view, const StripSteps& steps, double place) {
  if (steps.count() == 0) return;
  const double first = steps.place(0), last = steps.place(steps.count() - 1);
  view.scrubbed_tile = place >= last ? -1 : static_cast<int>(std::max(first, place));
  reveal_tile(view, steps, static_cast<int>(std::clamp(place, first, last)));
}

void play_or_pause(Playback& playback, View& view, const StripSteps& steps, double now) {
  const bool starts = !playback.playing && steps.count() > 1;
  playback = {starts, now + seconds_a_tile};
  if (starts && at_the_last(view, steps)) scrub_to(view, steps, 0);
}

bool advance(Playback& playback, View& view, const StripSteps& steps, double now) {
  if (!playback.playing) return false;
  if (now - playback.next_step > 1) playback.next_step = now;  // no frame was drawn for a while
  for (; now >= playback.next_step; playback.next_step += seconds_a_tile) scrub(view, steps, 1);
  playback.playing = steps.count() > 0 && !at_the_last(view, steps);
  return playback.playing;
}

std::string why_no_recurrence(const PanelInput& input) {
  const std::shared_ptr<const Result> shown = recurrence_answer(input);
  if (!shown) return input.answer.computing ? "computing" : "no answer yet";
  const Result& r = *shown;
  if (const std::string_view reason = info(r.experiment.a.algorithm).no_recurrence; !reason.empty()) return std::string(reason);
  if (!r.holds.trace) return "computing";
  if (r.trace.tiles.empty())
    return fmt::format("Row {} sees no key: its output is {}, and there is nothing to follow.", r.trace.row,
                       r.experiment.problem.empty_rows == EmptyRule::nan ? "NaN" : "zero");
  if (r.rescales.tiles <= 1)
    return "One tile holds every key: this is plain softmax. Make block_k smaller than the number of keys to see the "
           "recurrence.";
  return {};
}

std::string_view words_in(std::string_view words, float width) {
  for (std::string_view rest = words; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (text_width(Face::small, rest.substr(0, end)) > width) return {};
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

StripRoom draw_recurrence(const Frame& frame) {
  if (frame.session.experiment.backward.on) {
    draw_pass_switch(frame.session, frame.input);
    if (follows_gradients(frame.session)) return draw_gradient_strip(frame);
  }
  const std::shared_ptr<const Result> shown = recurrence_answer(frame.input);
  const bool of_b = shown != frame.input.answer.result,
             loaded = frame.input.answer.result && has_loaded(frame.input.answer.result->experiment);
  const FollowedRow* const followed = shown_followed(frame.input);
  if (loaded && followed == nullptr) frame.requests.side.followed = followed_beside(frame.session.experiment);
  refresh_strip(frame.state.strip, shown, frame.session.view.hidden_curves, of_b);
  const CallJudgement* const call = shown_verdict(frame.input);
  const Parting parting = call != nullptr && followed != nullptr ? parting_of(*call, *shown, followed->prefix) : Parting{};
  frame.state.strip.parts_at = parting.tile;
  frame.requests.animate |= advance(frame.state.playback, frame.session.view, shown.get(), ImGui::GetTime());
  const bool awaited = loaded && followed == nullptr && follows_another(frame.input.answer.result->experiment);
  const std::string why = awaited ? "Its recurrence is being computed." : why_no_recurrence(frame.input);
  const ImVec2 at = ImGui::GetCursorScreenPos(), all = ImGui::GetContentRegionAvail();
  const float scrubber = scrubber_height(all.x), foot = why.empty() ? scrubber + px(8) : 0;
  const ImVec2 room = beside_kernel_rows(frame.session, frame.input, frame.state, at, {all.x, all.y - foot});
  if (!why.empty()) {
    draw_why_none(why, shown.get(), at, room);
    dim_if_stale(frame.input);
    return {room.x};
  }
  Palette theirs = colours();
  if (of_b) {
    std::swap(theirs.a, theirs.b);
    if (followed_name(frame.input.answer.result->experiment) == "flash2") theirs.a = colours().text;
  }
  const WithColours as_theirs(theirs);
  show_axes(frame.state.strip, shown_tiles(*shown, frame.session.view));
  ImGui::SetCursorScreenPos(at);
  const float header =
      draw_recurrence_plots(frame.session.view, frame.state.strip, strip_plots(frame.session.view), room, true);
  draw_scrubber(frame.session.view, frame.state.playback, *shown, {at.x, at.y + all.y - scrubber}, {all.x, scrubber}, true);
  if (loaded) draw_followed_name(frame.input, *shown, parting, {at.x + px(48), at.y + px(42)}, room.x / 4 - px(56));
  dim_if_stale(frame.input);
  return {room.x, header};
}

TileRange all_tiles(const Result& r) { return {-0.5, std::max(1, r.rescales.tiles) - 0.5}; }

TileRange shown_tiles(const StripSteps& steps, const View& view) {
  const TileRange all = steps.all(), part{std::max(all.from, view.tiles.from), std::min(all.to, view.tiles.to)};
  return view.tiles == TileRange{} || part.to - part.from < least_tiles ? all : part;
}

bool shows_all_tiles(const StripSteps& steps, const View& view) { return shown_tiles(steps, view) == steps.all(); }

void show_tiles(View& view, const StripSteps& steps, TileRange wanted) {
  const TileRange all = steps.all();
  const double count = std::clamp(wanted.to - wanted.from, least_tiles, all.to - all.from);
  const double from = std::clamp(wanted.from, all.from, all.to - count);
  const bool is_all = count >= all.to - all.from;
  view.tiles = is_all ? TileRange{} : TileRange{from, from + count};
}

bool meets_limit(const Experiment& e, const TraceTile& t) {
  double of_m = std::numeric_limits<double>::infinity();
  for (const StepInfo& s : step_infos)
    if (s.is_score) of_m = std::min(of_m, limit_of(e, s.step));
  return t.saturated > 0 || !is_within(t.max_used, of_m) || !is_within(t.l, limit_of(e, Step::l)) || std::isinf(t.o_norm);
}

int tile_with(const Result& r, const View& view, TileEvent event, int by) {
  const auto& tiles = r.trace.tiles;
  const int count = static_cast<int>(tiles.size());
  for (int i = scrubbed(r, view) + by; i >= 0 && i < count; i += by) {
    const TraceTile& t = tiles[static_cast<std::size_t>(i)];
    if (event == TileEvent::rescale ? t.moved : meets_limit(r.experiment, t)) return i;
  }
  return -1;
}

void scrub_to_event(View& view, const Result* r, TileEvent event, int by) {
  if (r == nullptr || r->trace.tiles.empty()) return;
  if (const int index = tile_with(*r, view, event, by); index >= 0) scrub(view, r, index - scrubbed(*r, view));
}

}  // namespace attoscope::ui
