// Tiles that the recurrence strip shows: zoom, moving, selection, and jumps to tiles with an event.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "app/session/session.h"
#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "tests/ui/explore/strip_scene.h"
#include "ui/frame/ui_state.h"
#include "ui/recurrence/recurrence.h"

namespace attoscope::testing {
namespace {

/// An experiment whose running max is kept in fp16.
Experiment with_m_in_fp16() {
  Experiment e = small_session().experiment;
  e.a.precision[Step::m] = to_format(fp16);
  return e;
}

bool tile_is_at_limit(const Experiment& e, double m) {
  TraceTile t;
  t.max_used = m, t.l = 1;
  return meets_limit(e, t);
}

/// The wheel zooms the tiles, a drag moves them, a double click and a button show all.
CASE(tile_range, zoomed) {
  const Session before = hand.session();
  const auto at = [&](double x) { return hand.on_plot(strip + "row sum", x, 0.4f); };
  const auto same_but_range = [&](Session& s) { s.view.tiles = hand.view().tiles; };
  hand.changes(
      "the wheel",
      [&] {
        for (int turn = 0; turn < 6; ++turn) hand.wheel(at(2.5), 1);
      },
      same_but_range);
  const TileRange range = hand.view().tiles;
  hand.check(range.from > -0.5 && range.to < 5.5 && range.from < 2.5 && range.to > 2.5, "shows fewer tiles");
  hand.changes("a drag", [&] { hand.drag(at(2.5), at(2)); }, same_but_range);
  const TileRange moved = hand.view().tiles;
  hand.check(moved.from > range.from && std::abs(moved.to - moved.from - (range.to - range.from)) < 1e-6, "moves them");
  std::vector<std::string> remarks;
  hand.check(parse_session(session_text(hand.session()), remarks) == hand.session() && remarks.empty(), "a session saves it");
  hand.press(at(3), 2);
  hand.frames(2);
  hand.check(hand.view().tiles == TileRange{}, "a double click shows all");
  hand.show(&View::tiles, moved);
  hand.changes("the button shows all", [&] { hand.click(strip + "###all tiles"); }, [](Session& s) { s.view.tiles = {}; });
  hand.frames(2);
  hand.check(hand.disabled(strip + "###all tiles"), "then the button is grey");
}

/// Scrubbing beyond the range moves the range.
CASE(tile_range, scrubbed_beyond) {
  hand.view().tiles = {0.5, 2.5};  // tiles 1 and 2
  hand.show(&View::scrubbed_tile, 2);
  hand.changes("a click", [&] { hand.press(hand.on_plot(strip + "row sum", 1, 0.4f)); }, scrubbed(1));
  hand.changes("within the range nothing moves", [&] { hand.key(ImGuiKey_Period); }, scrubbed(2));
  hand.changes(
      "beyond it the tile comes to the middle", [&] { hand.key(ImGuiKey_Period); },
      [](Session& s) { s.view.scrubbed_tile = 3, s.view.tiles = {2, 4}; });
  hand.changes(
      "as far as there are tiles", [&] { hand.key(ImGuiMod_Shift | ImGuiKey_Comma); },
      [](Session& s) { s.view.scrubbed_tile = 0, s.view.tiles = {-0.5, 1.5}; });
}

CASE(tile_range, ranges) {
  const Result r = compute(small_session().experiment);  // tiles 0 .. 5
  View view;
  hand.check(shown_tiles(r, view) == TileRange{-0.5, 5.5} && shows_all_tiles(r, view), "all");
  show_tiles(view, r, {2, 2});
  hand.check(view.tiles == TileRange{2, 3}, "no less than one tile");
  show_tiles(view, r, {-9, 9});
  hand.check(view.tiles == TileRange{}, "no more than all");
  show_tiles(view, r, {4, 9});
  hand.check(view.tiles == TileRange{0.5, 5.5}, "no further than the last tile");
  view.tiles = {40, 50};
  hand.check(shows_all_tiles(r, view), "a range that the answer does not have shows all");
  StripState state;
  refresh_strip(state, std::make_shared<const Result>(r), 0);
  show_axes(state, {3.5, 5.5});
  hand.check(state.axes.first == 3.5 && state.axes.last == 5.5, "the axes fit the shown tiles");
  const FigurePanel part = strip_panel(Plot::running_max, state, View{});
  const Series* const m = find_series(part, "m");
  hand.check(m != nullptr && m->x == std::vector<double>{4, 5} && part.x.min == 3.5, "only shown tiles are drawn");
}

/// Jumps to tiles in which m moved or a number reached its limit.
CASE(tile_range, events) {
  Result r = compute(small_session().experiment);
  for (TraceTile& t : r.trace.tiles) t.moved = t.tile == 1 || t.tile == 4;
  r.trace.tiles[2].saturated = 3;
  r.trace.tiles[3].l = std::numeric_limits<double>::infinity();
  hand.stage.told = telling(r);
  hand.show(&View::tiles, {3.5, 5.5});
  const auto to = [](int tile, TileRange tiles) {
    return [tile, tiles](Session& s) { s.view.scrubbed_tile = tile, s.view.tiles = tiles; };
  };
  constexpr int rescale = ImGuiMod_Ctrl, limit = ImGuiMod_Ctrl | ImGuiMod_Shift;
  hand.click(strip + "###previous rescale", to(4, {3.5, 5.5}));  // in the range
  hand.key(rescale | ImGuiKey_Comma, to(1, {0, 2}));             // outside
  hand.check(hand.disabled(strip + "###previous rescale") && hand.disabled(strip + "###previous limit"),
             "no earlier tile has an event");
  hand.leaves("none", [&] { hand.key(rescale | ImGuiKey_Comma); });
  hand.click(strip + "###next limit", to(2, {0, 2}));  // a P that saturated
  hand.key(limit | ImGuiKey_Period, to(3, {2, 4}));    // a sum that is infinite
  hand.leaves("no more", [&] { hand.key(limit | ImGuiKey_Period); });
  hand.click(strip + "###previous limit", to(2, {2, 4}));
  hand.key(rescale | ImGuiKey_Period, to(4, {2, 4}));
  hand.check(!tile_is_at_limit(small_session().experiment, 60000) && tile_is_at_limit(with_m_in_fp16(), 65504),
             "m reaches the limit of its format");
}

}  // namespace

}  // namespace attoscope::testing
