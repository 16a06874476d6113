// The step of the scrubbed tile with its numbers, and the scrubber: buttons and slider.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ui/recurrence/recurrence.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {
namespace {

using Tone = FormulaPiece::Tone;

/// Exactly five significant digits.
std::string five_digits(double x) {
  const double magnitude = std::abs(x);
  if (!(magnitude < 99999.5) || (magnitude != 0 && magnitude < 1e-3)) return scientific(x, 5);
  std::string text = fmt::format("{:#.5g}", x);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

/// True if a tile has no state before it: the first of a row or of a run of split_kv.
bool begins(const Result& r, int index) {
  const int per_run = tiles_of_a_run(r.experiment.a, key_count(r.experiment.problem));
  const auto run = [&](int i) { return r.trace.tiles[static_cast<std::size_t>(i)].tile / per_run; };
  return index == 0 || run(index) != run(index - 1);
}

/// With `digits` decimals; numbers of many digits, "NaN" and "inf" in five digits.
std::string decimal(double x, int digits) { return std::abs(x) < 1e7 ? fmt::format("{:.{}f}", x, digits) : scientific(x, 5); }

/// alpha as computed: exp(m_old - m_new), or the equal power of two.
std::string alpha_formula(const Method& a, double before, double after, double alpha) {
  constexpr double log2_e = 0x1.71547652b82fep+0;
  if (a.exponential == ExponentialKind::exp2)
    return "α = 2^(" + decimal((before - after) * log2_e, 3) + ") = " + decimal(alpha, 4);
  return "α = exp(" + decimal(before - after, 3) + ") = " + decimal(alpha, 4);
}

// The arrow stands before l as it is kept: its sum may have been rounded.

void add_first(WorkedStep& step, const Result& r, int index, const TraceTile& t) {
  const bool whole = r.experiment.a.algorithm == Algorithm::three_pass;
  step.max.push_back({Tone::text, "m = max S = " + decimal(t.max_used, 4)});
  step.max.push_back({Tone::quiet, whole        ? "all keys at once"
                                   : index == 0 ? "first tile: nothing to rescale"
                                                : "a new run begins"});
  step.sums.push_back({Tone::text, "l = Σe → " + five_digits(t.l)});
}

void add_later(WorkedStep& step, const Result& r, const TraceTile& before, const TraceTile& t) {
  step.max.push_back({Tone::quiet, fmt::format("m {:>7} →", decimal(before.max_used, 3))});
  step.max.push_back({t.moved ? Tone::moved : Tone::text, decimal(t.max_used, 3)});
  step.max.push_back({Tone::moved, alpha_formula(r.experiment.a, before.max_used, t.max_used, t.alpha)});
  const char* const added = r.experiment.a.algorithm == Algorithm::flash1 ? " + β·Σe → " : " + Σe → ";
  step.sums.push_back({Tone::text, "l = α·" + five_digits(before.l) + added + five_digits(t.l)});
}

/// Adds saturated and underflowed P, and ties.
void add_events(WorkedStep& step, Algorithm algorithm, const TraceTile& t) {
  if (t.saturated > 0) step.max.push_back({Tone::bad, fmt::format("{} P saturated", t.saturated)});
  if (t.max_used < t.max_true)
    step.max.push_back(
        {Tone::golden, "max " + decimal(t.max_true, 3) + " is " + decimal(t.max_true - t.max_used, 3) + " above m"});
  if (t.underflowed > 0) step.max.push_back({Tone::quiet, fmt::format("{} P underflow", t.underflowed)});
  if (t.ties > 0) step.max.push_back({Tone::quiet, counted(t.ties, "tie")});
  const char* const weight = algorithm == Algorithm::two_pass ? "e" : "P";
  if (std::isnan(t.p_max))
    step.max.push_back({Tone::bad, fmt::format("{} is NaN", weight)});
  else
    step.max.push_back({Tone::quiet, fmt::format("{} ≤ {}", weight, single_number(t.p_max))});
}

Colour colour_of(Tone tone) {
  constexpr EnumArray<Tone, Colour Palette::*> all{&Palette::text, &Palette::secondary, &Palette::moved, &Palette::golden,
                                                   &Palette::bad};
  return colours().*all[tone];
}

constexpr float line_step = 18;

/// Draws pieces on at most `lines` lines; returns the top of the next line.
float draw_pieces(const std::vector<FormulaPiece>& pieces, ImVec2 at, float width, int lines) {
  const float left = at.x, end = at.x + width;
  for (const FormulaPiece& piece : pieces) {
    if (lines > 1 && at.x > left && at.x + text_width(Face::mono_small, piece.text) > end) {
      at = {left, at.y + px(line_step)};
      --lines;
    }
    if (at.x > left && at.x + std::min(px(88), text_width(Face::mono_small, piece.text)) > end) break;
    const std::string shown = fitted(Face::mono_small, piece.text, end - at.x);
    at.x += draw_text(at, Face::mono_small, colour_of(piece.tone), shown) + px(piece.text.ends_with("→") ? 7 : 16);
    if (shown != piece.text) break;
  }
  return at.y + px(line_step);
}

std::string joined(const std::vector<FormulaPiece>& pieces) {
  std::string text;
  for (const FormulaPiece& piece : pieces) text += (text.empty() ? "" : text.ends_with("→") ? " " : "\n") + piece.text;
  return text;
}

/// A button that moves the scrubber by tiles, or to a tile with an event.
struct StepButton {
  const char* id;
  int by;
  const char* what;
  TransportIcon icon = TransportIcon::next;
  std::optional<TileEvent> event{};
};
constexpr std::size_t plain_steps = 4;  ///< the first ones step by tiles; the play button is in their middle
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

void draw_step(const StepButton& b, View& view, Playback& playback, const StripSteps& tiles) {
  const Result* const r = tiles.recurrence();
  const bool possible = !b.event || tile_with(*r, view, *b.event, b.by) >= 0;
  ImGui::BeginDisabled(!possible);
  const Colour mark = b.event == TileEvent::rescale ? colours().moved : colours().bad;
  if (b.event ? mark_button(b.id, b.by > 0, mark) : transport_button(b.id, b.icon, false)) {
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
  if (push_button("all###all tiles", false, {px(34), px(control_height)}, !shows_all_tiles(tiles, view))) view.tiles = {};
  explain("Shows all tiles. In the plots the wheel zooms, a drag moves the tiles, and a double click shows all.");
  ImGui::SameLine();
}

constexpr float slider_height = 16, beside = control_height + slider_height, under_width = 880, two_lines_width = 520;

/// Lines of the worked step under the buttons.
int stacked_lines(float width) { return width < px(two_lines_width) ? 4 : 2; }

/// All buttons in a row; `events`: with the buttons that go to events.
void draw_buttons(View& view, Playback& playback, const StripSteps& tiles, bool events, bool zooms) {
  const WithSpacing spacing({px(2), 0});
  for (std::size_t i = 0; i < (events ? steps.size() : plain_steps); ++i) {
    if (i == plain_steps / 2) draw_play(view, playback, tiles);
    draw_step(steps[i], view, playback, tiles);
  }
  if (zooms) draw_all_button(view, tiles);
}

void draw_slider(View& view, const StripSteps& tiles, ImVec2 at, ImVec2 size) {
  const int index = scrubbed(tiles, view), count = tiles.count();
  int shown = index;
  ImGui::SetCursorScreenPos(at);
  if (track({"tile", 0, std::max(1, count - 1), 0, count - 1}, shown, size)) scrub(view, tiles, shown - index);
  explain(tiles.recurrence() != nullptr
              ? "The tile whose step is written out beside the slider and shaded in the plots. Tiles are counted from key 0."
              : "The tile whose step is written out beside the slider and shaded in the plots, in the order of addition.");
}

}  // namespace

WorkedStep worked_step(const Result& r, int index) {
  const auto& tiles = r.trace.tiles;
  const TraceTile& t = tiles[static_cast<std::size_t>(index)];
  const bool first = begins(r, index);
  WorkedStep step;
  if (first)
    add_first(step, r, index, t);
  else
    add_later(step, r, tiles[static_cast<std::size_t>(index) - 1], t);
  const AlgorithmInfo& a = info(r.experiment.a.algorithm);
  step.sums.push_back({Tone::text, std::string(first ? a.first_update : a.update)});
  if (std::isfinite(t.o_norm)) step.sums.push_back({Tone::quiet, "|O| = " + five_digits(t.o_norm)});
  if (r.experiment.problem.sink && index + 1 == static_cast<int>(tiles.size()))
    step.sums.push_back({Tone::quiet, "last: l += exp(sink − m)"});
  add_events(step, r.experiment.a.algorithm, t);
  step.error = r.experiment.a.algorithm == Algorithm::two_pass && std::isnan(t.error) ? "no output yet"
                                                                                      : "error so far " + scientific(t.error);
  return step;
}

void draw_worked(const WorkedStep& step, std::string_view what, ImVec2 at, float width, int lines) {
  const float right = text_width(Face::mono_small, "error so far 0.00e-00") + px(12);
  const bool both = width - right >= px(200);  // else only the plot shows the error
  const float next = draw_pieces(step.max, at, both ? width - right : width, lines - 1);
  if (both) draw_text({at.x + width, at.y}, Face::mono_small, colours().secondary, step.error, 1);
  const int used = static_cast<int>(std::lround((next - at.y) / px(line_step)));
  draw_pieces(step.sums, {at.x, next}, width, lines - used);
  take_room(at, {std::max(1.0f, width), px(line_step) * static_cast<float>(lines) - px(4)});
  explain(what, joined(step.max) + "\n" + joined(step.sums) + "\n" + step.error);
}

void draw_worked(const Result& result, int index, ImVec2 at, float width, int lines) {
  draw_worked(worked_step(result, index), "The step of the recurrence at this tile of the traced row, with its numbers.", at,
              width, lines);
}

float scrubber_height(float width) {
  return width < px(under_width) ? px(54) + px(18) * static_cast<float>(stacked_lines(width) - 1) : px(beside);
}

void draw_scrubber(View& view, Playback& playback, const StripSteps& tiles, int tile, int last, const SayStep& say, ImVec2 at,
                   ImVec2 size, bool zooms) {
  const bool stacked = size.y > px(beside);
  const float y = at.y + (stacked ? px(6) : 0);
  ImGui::SetCursorScreenPos({at.x, y});
  draw_buttons(view, playback, tiles, tiles.recurrence() != nullptr && size.x > px(two_lines_width), zooms);
  float x = ImGui::GetCursorScreenPos().x + px(8);
  const std::string words = fmt::format("tile {:{}} (0 to {})", tile, std::to_string(last).size(), last);  // fixed width
  x += draw_in_line({x, y}, px(control_height), Face::mono, colours().text, words) + px(8);
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
  const auto& tiles = r.trace.tiles;
  const int tile = tiles[static_cast<std::size_t>(scrubbed(r, view))].tile;
  draw_scrubber(view, playback, r, tile, tiles.back().tile, say, at, size, zooms);
}

}  // namespace attoscope::ui
