// The recurrence strip with its scrubber, the bars, the keys, the help.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <tuple>

#include "imgui_internal.h"
#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "tests/ui/explore/strip_scene.h"
#include "ui/commands/bars.h"
#include "ui/frame/ui_state.h"
#include "ui/recurrence/recurrence.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::testing::strip_cases {
namespace {

CASE(strip, buttons) {  // six tiles, 0 .. 5
  const std::string back = strip + "###previous tile", on = strip + "###next tile";
  hand.leaves("next of the last", [&] { hand.click(on); });
  for (const int tile : {4, 3, 2, 1, 0}) hand.click(back, scrubbed(tile));
  hand.leaves("previous of the first", [&] { hand.click(back); });
  for (const int tile : {1, 2, 3, 4, -1}) hand.click(on, scrubbed(tile));
  hand.each({{strip + "###first tile", scrubbed(0)}, {strip + "###last tile", scrubbed(-1)}});
}

/// Draws 60 Hz frames for the time in which `tiles` tiles play.
void let_play(Hand& hand, int tiles) { hand.frames(15 * tiles); }

CASE(strip, play) {
  const Playback& playback = hand.stage.state->playback;
  const auto press = [&] { hand.click(strip + "###play"); };
  press();
  hand.check(playback.playing && hand.view().scrubbed_tile == 0, "from the last tile it starts at the first");
  let_play(hand, 2);
  const int tile = hand.view().scrubbed_tile;
  hand.check(tile >= 1 && tile <= 4, "two tiles later it is about two tiles on");
  press();
  const int paused = hand.view().scrubbed_tile;
  hand.check(!playback.playing, "pressed again, it stops");
  hand.leaves("nothing moves while it is paused", [&] { let_play(hand, 3); });
  hand.check(hand.view().scrubbed_tile == paused, "the strip stays at its tile");
  hand.key(ImGuiKey_J);
  hand.check(playback.playing && hand.view().scrubbed_tile == paused, "J goes on from there");
  let_play(hand, 7);
  hand.check(!playback.playing && hand.view().scrubbed_tile == -1, "it stops at the last tile");
  hand.changes("undo takes the whole tour back at once", [&] { hand.key(undo_key); }, scrubbed(paused));
  press();
  hand.click(strip + "###next tile");
  hand.check(!playback.playing, "a step by hand stops it");
}

CASE(strip, playback_by_the_clock) {
  const Result r = compute(small_session().experiment);  // tiles 0 .. 5
  View view;
  Playback playback;
  hand.check(!advance(playback, view, &r, 0) && view.scrubbed_tile == -1, "without play nothing moves");
  play_or_pause(playback, view, &r, 10);
  hand.check(playback.playing && view.scrubbed_tile == 0, "playing starts at the first tile");
  hand.check(advance(playback, view, &r, 10.2) && view.scrubbed_tile == 0, "the next tile is not yet due");
  hand.check(advance(playback, view, &r, 10.26) && view.scrubbed_tile == 1, "the next tile is due");
  hand.check(advance(playback, view, &r, 10.8) && view.scrubbed_tile == 3, "slow frames advance two tiles");
  hand.check(advance(playback, view, &r, 99) && view.scrubbed_tile == 4, "a long pause advances one tile");
  hand.check(!advance(playback, view, &r, 100) && view.scrubbed_tile == -1, "playing ends");
  play_or_pause(playback, view, nullptr, 0);
  hand.check(!playback.playing, "nothing to play without an answer");
  playback.playing = true;
  hand.check(!advance(playback, view, nullptr, 1), "without an answer playing stops");
}

CASE(strip, legends) {
  for (const auto& [name, curve] :
       {std::pair{"m", Curve::m}, std::pair{"true", Curve::max_true}, std::pair{"rows", Curve::rows},
        std::pair{"ties", Curve::ties}, std::pair{"moved", Curve::rescales}, std::pair{"expected", Curve::expected},
        std::pair{"per row", Curve::row_moves}, std::pair{"l", Curve::l}, std::pair{"alpha", Curve::alpha},
        std::pair{"O", Curve::O_norm}, std::pair{"P", Curve::P_max}, std::pair{"error", Curve::error},
        std::pair{"error of b", Curve::b_error}})
    for (int twice = 0; twice < 2; ++twice)
      hand.click(strip + "legend " + name, [curve = curve](Session& s) { s.view.hidden_curves ^= bit(curve); });
  hand.check(!hand.exists(strip + "largest P"), "the plot of P is hidden");
  hand.click(strip + "legend P");
  hand.frames(2);
  hand.check(hand.exists(strip + "largest P"), "its name shows the plot");
  hand.changes("a click on the plot scrubs", [&] { hand.press(hand.on_plot(strip + "largest P", 0)); }, scrubbed(0));
}

/// The axes fit the shown curves alone.
CASE(strip, axes_of_what_is_shown) {
  Result r = compute(small_session().experiment);
  for (TraceTile& t : r.trace.tiles) t.error *= 1e4, t.max_used = t.max_true = 1.5 + 0.01 * t.tile;
  hand.stage.told = telling(std::move(r));
  hand.frames(2);
  const StripState& strip_state = hand.stage.state->strip;
  const StripAxes all = strip_state.axes;
  const auto click = [&](const char* id) {
    hand.click(strip + "legend " + id);
    hand.frames(2);
  };
  click("error");
  hand.check(strip_state.b_error > 0 && strip_state.axes.error_high < all.error_high &&
                 strip_state.axes.error_high >= strip_state.b_error,
             "without a the axis is b's");
  click("error of b");
  click("error");
  const double most = *std::ranges::max_element(strip_state.row.error);
  hand.check(strip_state.axes.error_high == all.error_high && strip_state.axes.error_high >= most, "without b the axis is a's");
  click("error of b");
  hand.check(strip_state.axes.error_low == all.error_low && strip_state.axes.error_high == all.error_high, "again for both");
}

/// Each run of split_kv begins at a tile.
CASE(strip, runs_of_split_kv) {
  Session session = small_session();
  session.experiment.a.algorithm = Algorithm::split_kv;
  for (const auto& [splits, begins] : {std::pair{2, std::vector{2.5}}, {3, std::vector{1.5, 3.5}}}) {
    session.experiment.a.splits = splits;
    hand.open(session, 2);
    hand.check(hand.stage.state->strip.run_begins == begins, "the runs begin there");
  }
  session.experiment.a.algorithm = Algorithm::flash2;
  hand.open(session);
  hand.check(hand.stage.state->strip.run_begins.empty(), "a single run has no marks");
}

std::string text_of(const std::vector<FormulaPiece>& pieces) {
  std::string text;
  for (const FormulaPiece& piece : pieces) text += piece.text + "  ";
  return text;
}

bool near(double x, double y) { return std::abs(x - y) <= 2e-4 * std::max(std::abs(x), std::abs(y)) + 1e-12; }

/// Checks that a worked step has the trace's numbers, and that these are consistent.
void check_step(Hand& hand, const Result& r, int index) {
  const TraceTile& t = r.trace.tiles[static_cast<std::size_t>(index)];
  const WorkedStep step = worked_step(r, index);
  const std::string sums = text_of(step.sums), max = text_of(step.max),
                    where = std::string(name(r.experiment.a.algorithm)) + ": ";
  const char* const later = r.experiment.a.algorithm == Algorithm::flash1 ? "l = α·%lf + β·Σe → %lf" : "l = α·%lf + Σe → %lf";
  hand.check(max.ends_with(" ≤ " + single_number(t.p_max) + "  "), where + max);
  double before = 0, sum = 0, m = 0, m_old = 0;
  if (std::sscanf(sums.c_str(), later, &before, &sum) == 2) {
    hand.check(near(sum, t.l), where + sums);
    hand.check(std::sscanf(max.c_str(), "m %lf →  %lf", &m_old, &m) == 2 && std::abs(m - t.max_used) <= 5.1e-4, where + max);
    hand.check(near(before, r.trace.tiles[static_cast<std::size_t>(index) - 1].l), where + "l before");
  } else {
    hand.check(std::sscanf(sums.c_str(), "l = Σe → %lf", &sum) == 1 && near(sum, t.l), where + sums);
    hand.check(std::sscanf(max.c_str(), "m = max S = %lf", &m) == 1 && std::abs(m - t.max_used) <= 5.1e-5, where + max);
  }
}

CASE(strip, formulas) {
  for (const auto& [algorithm, first, later] : {std::tuple{Algorithm::three_pass, "O = P·V", ""},
                                                {Algorithm::two_pass, "O waits", "O waits"},
                                                {Algorithm::flash1, "O = P·V / l", "O = (α·l·O + β·P·V) / l"},
                                                {Algorithm::flash2, "O = P·V", "O = α·O + P·V"},
                                                {Algorithm::flash4, "O = P·V", "O = α·O + P·V"},
                                                {Algorithm::split_kv, "O = P·V", "O = α·O + P·V"}}) {
    Experiment e = small_session().experiment;
    e.a.algorithm = algorithm;
    const Result r = compute(e);
    const int count = static_cast<int>(r.trace.tiles.size());
    for (int i = 0; i < count; ++i) check_step(hand, r, i);
    hand.check(has(text_of(worked_step(r, 0).sums), first), first);
    if (count > 1) hand.check(has(text_of(worked_step(r, 1).sums), later), later);
    const bool two_runs = algorithm == Algorithm::split_kv;
    hand.check(!two_runs || has(text_of(worked_step(r, 3).max), "a new run begins"), "the second run begins at tile 3");
  }
}

/// The row sum of a tile is not known from l before and after it, if l is rounded or infinite.
CASE(strip, formulas_state_no_sum_of_the_tile) {
  Result r = compute(small_session().experiment);
  r.trace.tiles[0].l = r.trace.tiles[1].l = 256, r.trace.tiles[1].alpha = 1;
  hand.check(has(text_of(worked_step(r, 1).sums), "l = α·256.00 + Σe → 256.00"), "a sum that rounding lost");
  r.trace.tiles[0].l = r.trace.tiles[1].l = std::numeric_limits<double>::infinity();
  hand.check(!has(text_of(worked_step(r, 1).sums), "NaN"), "infinite l");
}

CASE(strip, formulas_write_numbers_as_people_do) {
  Result r = compute(small_session().experiment);
  for (const auto& [p_max, text] : {std::pair{1.0, "P ≤ 1  "},
                                    {0.9, "P ≤ 0.900  "},
                                    {0.05, "P ≤ 0.0500  "},
                                    {4e-5, "P ≤ 4.00e-5  "},
                                    {NAN, "P is NaN  "}}) {
    r.trace.tiles[1].p_max = p_max;
    hand.check(has(text_of(worked_step(r, 1).max), text), text_of(worked_step(r, 1).max));
  }
}

CASE(strip, formulas_without_numbers) {
  Result r = compute(small_session().experiment);
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  r.trace.tiles[0].max_used = r.trace.tiles[1].max_used = 1.2345e31;
  hand.check(has(text_of(worked_step(r, 1).max), "m 1.2345e31 →  1.2345e31"), text_of(worked_step(r, 1).max));
  for (TraceTile& t : r.trace.tiles) t.max_used = inf, t.alpha = -nan, t.l = nan, t.error = nan;
  const WorkedStep step = worked_step(r, 1);
  hand.check(has(text_of(step.max), "α = exp(NaN) = NaN"), text_of(step.max));
  hand.expect_text(step.error, "error so far NaN");
  r.experiment.a.algorithm = Algorithm::two_pass;
  hand.check(worked_step(r, 1).error == "no output yet", "two_pass has none before its second pass");
}

CASE(strip, notes_of_broken_words_are_left_out) {
  const std::string words = "Row 95 is rounded.";
  const float longest = text_width(Face::small, "rounded.");
  hand.check(words_in(words, longest) == words && words_in(words, longest - 1).empty(), "its longest word decides");
  hand.check(words_in("", 1).empty(), "no words");
}

CASE(strip, powers_of_two) {
  Experiment e = small_session().experiment;
  e.a.exponential = ExponentialKind::exp2;
  const Result r = compute(e);
  for (std::size_t i = 1; i < r.trace.tiles.size(); ++i) {
    const std::string max = text_of(worked_step(r, static_cast<int>(i)).max);
    const std::size_t at = max.find("α = 2^(");
    double exponent = 0, alpha = 0;
    hand.check(at != std::string::npos && std::sscanf(max.c_str() + at, "α = 2^(%lf) = %lf", &exponent, &alpha) == 2 &&
                   std::abs(std::exp2(exponent) - alpha) < 1e-3,
               max);
  }
}

/// Moves counted per tile and per row have the same total.
CASE(strip, moves_per_row) {
  for (const Algorithm algorithm : emulated_algorithms)
    for (const Mask mask : {Mask{}, Mask{Mask::Kind::causal}, Mask{Mask::Kind::window, 20}, Mask{Mask::Kind::padding, 9}})
      for (const bool reversed : {false, true}) {
        Experiment e = small_session().experiment;
        e.problem.mask = mask;
        e.a.algorithm = algorithm;
        e.a.reverse_keys = reversed;
        const Result r = compute(e);
        const std::vector<double> rows = rows_by_moves(r);
        double moves = 0;
        for (std::size_t k = 0; k < rows.size(); ++k) moves += static_cast<double>(k) * rows[k];
        const auto counted = std::accumulate(r.rescales.per_tile.begin(), r.rescales.per_tile.end(), std::int64_t{0});
        hand.check(r.rescale_map.row_step == 1 && moves == static_cast<double>(counted),
                   std::string(name(algorithm)) + ": moves of rows and of tiles");
        hand.check(std::accumulate(rows.begin(), rows.end(), 0.0) == static_cast<double>(r.rows.size()),
                   "every row is counted once");
      }
  hand.check(rows_by_moves(Result{}).empty(), "no map, no rows");
}

CASE(strip, nothing_to_follow) {
  Session session = small_session();
  session.experiment.problem.mask = {Mask::Kind::padding, 9};
  session.experiment.problem.traced_row = 0;
  Result blind = compute(session.experiment);
  hand.check(blind.trace.tiles.empty(), "row 0 sees no key");
  for (const Algorithm algorithm : {Algorithm::flash2, Algorithm::hardware, Algorithm::loaded, Algorithm::three_pass}) {
    Result result = blind;
    result.experiment.a.algorithm = algorithm;
    if (!is_emulated(algorithm)) result.rescales = {}, result.rescale_map = {};
    hand.stage.told = telling(result);
    hand.session().experiment = result.experiment;
    const std::string why = why_no_recurrence(*hand.stage.told);
    hand.check(why.ends_with("."), "one sentence: " + why);
    for (const Detail detail : {Detail::ulps, Detail::scatter, Detail::why, Detail::same_bits}) {
      hand.show(&View::detail, detail);
    }
    for (const int key : {ImGuiKey_Comma, ImGuiKey_Period, ImGuiKey_J}) hand.key(key);
    hand.check(!hand.stage.state->playback.playing && !hand.exists(strip + "###play"), "there is nothing to play");
  }
  hand.check(!why_no_recurrence(PanelInput{}).empty(), "no answer yet");
  hand.check(why_no_recurrence(telling(compute(small_session().experiment))).empty(), "there is something to follow");
}

CASE(strip, track) {
  const std::string path = strip + "##tile";
  hand.changes("to the left", [&] { hand.drag(hand.place(path, 0.9f), hand.place(path, 0)); }, scrubbed(0));
  hand.changes("to the right", [&] { hand.drag(hand.place(path, 0.1f), hand.place(path, 1)); }, scrubbed(-1));
  hand.changes("typed", [&] { hand.type(path, "3"); }, scrubbed(3));
  hand.changes("typed beyond", [&] { hand.type(path, "77"); }, scrubbed(-1));
}

CASE(strip, plots) {
  for (const char* plot : {"running max", "rescales", "row sum", "error so far"})
    for (const int tile : {0, 3})
      hand.changes(plot, [&] { hand.press(hand.on_plot(strip + plot, tile, 0.9f)); }, scrubbed(tile));
}

CASE(bars, theme_and_scale) {
  hand.click(top_bar + "###view");
  const std::string menu = "//$FOCUSED/";
  hand.each({{menu + "theme/light", [](Session& s) { s.view.theme = Theme::light; }},
             {menu + "theme/contrast", [](Session& s) { s.view.theme = Theme::high_contrast; }},
             {menu + "theme/dark", [](Session& s) { s.view.theme = Theme::dark; }},
             {menu + "###larger", [](Session& s) { s.view.ui_scale = 1.125; }},
             {menu + "###UI scale", [](Session& s) { s.view.ui_scale = 1; }},
             {menu + "###smaller", [](Session& s) { s.view.ui_scale = 0.875; }}});
  hand.key(ImGuiKey_Escape);
  for (int i = 0; i < 30; ++i) hand.key(ImGuiKey_Equal);
  hand.check(hand.view().ui_scale == 4, "no larger than the setting can be");
  for (int i = 0; i < 30; ++i) hand.key(ImGuiKey_Minus);
  hand.check(hand.view().ui_scale == 0.5, "no smaller than the setting can be");
  hand.show(&View::ui_scale, 0.625);
  hand.click(top_bar + "###view");
  hand.click(menu + "###smaller", [](Session& s) { s.view.ui_scale = 0.5; });
}

/// The status bar shows the numbers of the current workspace.
CASE(bars, numbers_of_workspaces) {
  hand.view().workspace = Workspace::train;
  hand.tell().train.progress.step = 240, hand.stage.told->train.progress.steps = 400;
  const auto first = [&] {
    const std::vector<StatusNumber> numbers = status_numbers(hand.session(), *hand.stage.told);
    return numbers.empty() ? std::string() : numbers.front().text;
  };
  hand.check(has(first(), "step 240 of 400"), "Train: " + first());
  hand.view().workspace = Workspace::sweep;
  hand.stage.told->sweep.progress.points = 21, hand.stage.told->sweep.progress.done = 12;
  hand.check(has(first(), "12 of 21 points"), "Sweep: " + first());
  hand.view().workspace = Workspace::explore;
  hand.check(has(first(), "96 rows"), "Explore: " + first());
  hand.view().workspace = Workspace::learn;
  hand.check(first().empty(), "Learn without lessons");
  hand.stage.told.reset();
  hand.frames(3);
  hand.tell();
  hand.check(first() == "lesson 1 of " + std::to_string(hand.stage.told->learn.lessons->size()), "Learn: " + first());
  const Lesson& lesson = hand.stage.told->learn.lessons->front();
  hand.session().lesson.progress = {{lesson.name, static_cast<int>(lesson.steps.size())}};
  hand.expect_text(status_numbers(hand.session(), *hand.stage.told).back().text, "1 lesson read");
}

CASE(bars, help) {
  hand.leaves("help", [&] { hand.click(top_bar + "###view"), hand.click("//$FOCUSED/###help"); });
  hand.check(hand.stage.state->popups.help, "the menu shows the keys");
  hand.leaves("close", [&] { hand.click("//Help/close"); });
  hand.check(!hand.stage.state->popups.help, "the button closes the keys");
  hand.key(ImGuiKey_H);
  hand.check(hand.stage.state->popups.help, "H shows the keys");
  hand.key(ImGuiKey_H);
  hand.check(!hand.stage.state->popups.help, "H closes the keys");
}

/// Boxes of the letters of this colour that a window drew.
std::vector<ImRect> letters(const ImGuiWindow& window, Colour colour) {
  const ImVector<ImDrawVert>& all = window.DrawList->VtxBuffer;
  std::vector<ImRect> boxes;
  for (int i = 0; i + 4 <= all.Size;) {
    const ImDrawVert* const v = &all[i];
    const bool is_box = v[0].pos.x == v[3].pos.x && v[1].pos.x == v[2].pos.x && v[0].pos.y == v[1].pos.y &&
                        v[2].pos.y == v[3].pos.y && v[0].uv.x != v[2].uv.x;
    if (is_box && v[0].col == colour && v[2].col == colour) boxes.emplace_back(v[0].pos, v[2].pos);
    i += is_box ? 4 : 1;
  }
  return boxes;
}

CASE(bars, help_fits_the_window) {
  for (const auto& [width, height] : {std::pair{1600, 1000}, {1280, 800}, {700, 600}}) {
    hand.resize(width, height);
    hand.stage.state->popups.help = true;
    hand.frames(4);
    const std::string at = std::to_string(width) + " x " + std::to_string(height);
    const ImGuiWindow* const window = ImGui::FindWindowByName("Help");
    hand.check(ImRect(0, 0, static_cast<float>(width), static_cast<float>(height)).Contains(window->Rect()), at + ": it fits");
    hand.check(window->ScrollMax.x <= 0 && (window->ScrollMax.y <= 0 || window->ScrollbarY),
               at + ": what is below is scrolled to");
    const std::vector<ImRect> keys = letters(*window, colours().accent), words = letters(*window, colours().text);
    hand.check(keys.size() > 20 && words.size() > 100, at + ": there are letters");
    for (const ImRect& key : keys)
      hand.check(std::ranges::none_of(words, [&](const ImRect& word) { return word.Overlaps(key); }), at + ": they overlap");
    hand.stage.state->popups.help = false;
  }
}

CASE(keys, all_keys) {
  for (int i = 8; i >= 0; --i)
    hand.changes("a digit", [&] { hand.key(ImGuiKey_1 + i); }, [&](Session& s) { s.view.field = static_cast<Field>(i); });
  for (int i = 0; i < 3; ++i)
    hand.key(ImGuiMod_Shift | (ImGuiKey_1 + i), [&](Session& s) { s.view.field = static_cast<Field>(9 + i); });
  hand.changes("L", [&] { hand.key(ImGuiKey_L); }, [](Session& s) { s.view.scale = ValueScale::linear; });
  hand.changes("G", [&] { hand.key(ImGuiKey_G); }, [](Session& s) { s.view.show_tiles = true; });
  hand.changes("T", [&] { hand.key(ImGuiKey_T); }, [](Session& s) { s.view.theme = Theme::light; });
  hand.changes("+", [&] { hand.key(ImGuiKey_Equal); }, [](Session& s) { s.view.ui_scale = 1.125; });
  hand.changes("-", [&] { hand.key(ImGuiKey_Minus); }, [](Session& s) { s.view.ui_scale = 1; });
  hand.key(ImGuiKey_P, [&](Session& s) { s.view.range_pinned = true, s.view.range = hand.view().range; });
  hand.view().zoom = {2, 2, 8, 8};
  hand.view().cell_row = hand.view().cell_col = 3;
  hand.changes("0", [&] { hand.key(ImGuiKey_0); }, [](Session& s) { s.view.zoom = {}; });
  hand.changes("Esc", [&] { hand.key(ImGuiKey_Escape); }, [](Session& s) { s.view.cell_row = s.view.cell_col = -1; });
}

CASE(keys, tiles) {
  hand.changes("comma", [&] { hand.key(ImGuiKey_Comma); }, scrubbed(4));
  hand.changes("comma again", [&] { hand.key(ImGuiKey_Comma); }, scrubbed(3));
  hand.changes("Shift and comma", [&] { hand.key(ImGuiMod_Shift | ImGuiKey_Comma); }, scrubbed(0));
  hand.changes("period", [&] { hand.key(ImGuiKey_Period); }, scrubbed(1));
  hand.changes("Shift and period", [&] { hand.key(ImGuiMod_Shift | ImGuiKey_Period); }, scrubbed(-1));
  hand.leaves("arrows and Tab", [&] {
    for (const int key : {ImGuiKey_LeftArrow, ImGuiKey_DownArrow, ImGuiKey_Tab, ImGuiKey_RightArrow, ImGuiKey_Home})
      hand.key(key);
  });
  hand.changes("comma after them", [&] { hand.key(ImGuiKey_Comma); }, scrubbed(4));
}

CASE(keys, quit) {
  hand.leaves("Ctrl+Q", [&] {
    hand.check(!hand.stage.asked_to_quit, "the first attempt does not close");
    hand.key(ImGuiMod_Ctrl | ImGuiKey_Q);
    hand.check(hand.stage.asked_to_quit, "the window is asked to close");
  });
}

/// Draws numbers at the ends of double's range, NaN and infinity.
CASE(strip, extreme_numbers) {
  const Result calm = compute(small_session().experiment);
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const double x : {1.7e308, -1.7e308, 5e-324, 0.0, inf, std::nan("")}) {
    Result r = calm;
    Matrix golden = *r.golden;
    for (std::size_t i = 0; i < golden.values.size(); i += 3) golden.values[i] = x;
    for (std::size_t i = 1; i < golden.values.size(); i += 2) r.a.values[i] = -x / 2;
    r.golden = std::make_shared<const Matrix>(std::move(golden));
    for (std::size_t t = 0; t < r.trace.tiles.size(); ++t) {
      TraceTile& tile = r.trace.tiles[t];
      const double y = t % 2 == 0 ? x : -x;
      tile.max_true = tile.max_used = tile.l = tile.o_norm = y;
      tile.p_max = tile.error = tile.alpha = std::abs(y);
      tile.saturated = tile.ties = tile.underflowed = 1 << 30;
    }
    for (float& m : r.rescale_map.m) m = static_cast<float>(x);
    hand.stage.told = telling(std::move(r));
    hand.view().hidden_curves = 0;
    for (const Detail detail : {Detail::ulps, Detail::scatter}) {
      hand.show(&View::detail, detail);
    }
    for (int i = 0; i < 7; ++i) hand.key(i < 2 ? ImGuiKey_Comma : ImGuiKey_Period);
    hand.check(hand.exists(strip + "###play"), "the strip is drawn");
  }
}

}  // namespace

}  // namespace attoscope::testing::strip_cases
