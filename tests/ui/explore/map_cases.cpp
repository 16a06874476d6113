// The rescale map and the scores.
#include <algorithm>
#include <cmath>

#include "tests/ui/cases.h"
#include "ui/picture/heatmap_view.h"
#include "ui/picture/pictures.h"
#include "ui/statistics/statistics.h"

namespace attoscope::testing::map_cases {
namespace {

const std::string picture = heatmap + "picture";

void await_scores(Hand& hand) {
  hand.await("scores are there", [&] {
    const auto scores = hand.stage.panel_input().side.scores;
    return scores && scores->question.experiment == scored(hand.experiment()) &&
           holds(scores->question, seen(hand.view().score_look.zoom, 96, 96));
  });
}
void await_counts(Hand& hand) {
  hand.await("counts are there", [&] {
    const auto counts = hand.stage.panel_input().side.clipping;
    return counts && counts->experiment == hand.experiment();
  });
}

/// The small session, causal, with an 8-bit P and the picture `kind`.
Session masked(PictureKind kind) {
  Session s = small_session();
  s.experiment.problem.mask.kind = Mask::Kind::causal;
  s.experiment.a.precision[Step::P] = to_format(e4m3);
  s.view.picture = kind;
  return s;
}

CASE(maps, kinds_of_picture) {
  for (const std::size_t i : {std::size_t{3}, std::size_t{2}, std::size_t{1}, std::size_t{0}})
    hand.click(heatmap + "kind/" + std::string(picture_names[i]),
               [&](Session& s) { s.view.picture = static_cast<PictureKind>(i); });
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{0}})
    hand.changes("key M", [&] { hand.key(ImGuiKey_M); }, [&](Session& s) { s.view.picture = static_cast<PictureKind>(i); });
}

CASE(maps, every_map_and_score) {
  hand.open(masked(PictureKind::rescales));
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{0}})
    hand.choose(heatmap + "##rescale", "###" + std::string(rescale_names[i]),
                [&](Session& s) { s.view.rescale_show = static_cast<RescaleShow>(i); });
  hand.open(masked(PictureKind::scores));
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}, std::size_t{1}})
    hand.choose(heatmap + "##score", "###" + std::string(score_names[i]),
                [&](Session& s) { s.view.score_show = static_cast<ScoreShow>(i); });
}

CASE(maps, moves_of_m) {
  Session s = masked(PictureKind::rescales);
  s.experiment.a.algorithm = Algorithm::split_kv;
  for (const RescaleShow show : {RescaleShow::moved, RescaleShow::amount}) {
    s.view.rescale_show = show;
    hand.open(s, 2);
    const RescaleState& m = hand.stage.state->rescale_map;
    const Result& r = *hand.result();
    if (!hand.check(m.rows == 96 && m.cols == 6, "rows and tiles")) return;
    int found = 0;
    for (int row = 0; row < 96; ++row)
      for (int tile = 0; tile < 6; ++tile) {
        const auto max_at = [&](int t) { return r.rescale_map.m[static_cast<std::size_t>(t * 96 + row)]; };
        const bool has_before = tile != 0 && tile != 3 && tile * 16 <= row;  // two runs of three tiles
        const float by = has_before ? max_at(tile) - max_at(tile - 1) : 0;
        const float expected = show == RescaleShow::amount ? by : (by != 0 ? 1.0f : 0.0f);
        hand.check(m.values[static_cast<std::size_t>(row * 6 + tile)] == expected, "the move of m");
        found += by != 0;
      }
    hand.check(found > 10, "m moved in some tiles");
    if (show == RescaleShow::moved) hand.check(!m.marks.empty(), "moves are marked");
  }
}

CASE(maps, counts_of_a_row) {
  Session s = masked(PictureKind::rescales);
  s.view.rescale_show = RescaleShow::underflowed;
  s.experiment.problem.scale = 2;
  hand.open(s);
  await_counts(hand);
  const RescaleState& m = hand.stage.state->rescale_map;
  const auto& tiles = hand.result()->trace.tiles;
  if (!hand.check(m.rows == 96 && m.cols == 6 && tiles.size() == 6, "rows and tiles")) return;
  int all = 0;
  std::string line = "\n95";
  for (const TraceTile& t : tiles) {
    hand.check(static_cast<int>(m.values[static_cast<std::size_t>(95 * 6 + t.tile)]) == t.underflowed,
               "the traced row has its trace's counts");
    all += t.underflowed;
    line += "," + std::to_string(t.underflowed);
  }
  hand.check(all > 0, "some P underflow");
  const std::string csv = picture_csv(hand.view(), hand.stage.panel_input(), hand.stage.state->heat);
  hand.check(has(csv, line + "\n"), "the file has the counts: " + csv);
}

CASE(maps, click_in_the_map) {
  hand.open(masked(PictureKind::rescales));
  hand.press(hand.place(picture, 2.5f / 6, 70.5f / 96),
             [](Session& s) { s.experiment.problem.traced_row = 70, s.view.scrubbed_tile = 2; });
  hand.frames(40);
  hand.wheel(hand.place(picture, 0.5f, 0.5f), 2, [&](Session& s) { s.view.rescale_look.zoom = hand.view().rescale_look.zoom; });
  hand.check(!(hand.view().rescale_look.zoom == CellRect{}), "the wheel zooms");
  hand.press(hand.place(picture, 0.3f, 0.3f), [](Session& s) { s.view.rescale_look.zoom = {}; }, 2);
}

CASE(maps, click_in_the_scores) {
  hand.open(masked(PictureKind::scores));
  await_scores(hand);
  hand.press(hand.place(picture, 33.5f / 96, 70.5f / 96),
             [](Session& s) { s.experiment.problem.traced_row = 70, s.view.scrubbed_tile = 2; });
  const auto before = hand.stage.panel_input().side.scores;
  hand.frames(40);
  hand.check(hand.stage.panel_input().side.scores == before, "the scores are those of every traced row");
  hand.wheel(hand.place(picture, 0.5f, 0.5f), 3, [&](Session& s) { s.view.score_look.zoom = hand.view().score_look.zoom; });
  hand.press(hand.place(picture, 0.3f, 0.6f), [](Session& s) { s.view.score_look.zoom = {}; }, 2);
  hand.wheel(hand.place(picture, 0.5f, 0.5f), 3);
  hand.changes("key 0", [&] { hand.key(ImGuiKey_0); }, [](Session& s) { s.view.score_look.zoom = {}; });
  hand.experiment().a.reverse_keys = true;
  hand.settle();
  await_scores(hand);
  hand.press(hand.place(picture, 33.5f / 96, 80.5f / 96),
             [](Session& s) { s.experiment.problem.traced_row = 80, s.view.scrubbed_tile = 3; });
}

CASE(maps, own_ranges) {
  Session s = masked(PictureKind::scores);
  hand.open(s);
  await_scores(hand);
  hand.fill(heatmap + "##range", "0.5",
            [](Session& now) { now.view.score_look.range_pinned = true, now.view.score_look.range = 0.5; });
  hand.changes("unpinned", [&] { hand.key(ImGuiKey_P); }, [](Session& now) { now.view.score_look.range_pinned = false; });
  s.view.picture = PictureKind::rescales;
  s.view.rescale_show = RescaleShow::amount;
  hand.open(s);
  hand.fill(heatmap + "##range", "3",
            [](Session& now) { now.view.rescale_look.range_pinned = true, now.view.rescale_look.range = 3; });
  hand.experiment().problem.seed += 1;
  hand.settle();
  hand.check(colour_range(*hand.stage.state, hand.view()) == 3, "it stays while the numbers change");
}

/// The right value of a pixel: the heaviest visible cell under it; `masked` if no cell is visible.
float heaviest(const CellPicture& m, const CellRect& rect, int x, int y, const std::function<bool(int, int)>& visible) {
  const auto span = [](double from, double to, int p, int pixels) {
    const double step = (to - from) / pixels;
    return std::pair{from + p * step + 1e-9, from + (p + 1) * step - 1e-9};
  };
  const auto rows = span((rect.row0 - m.first_row) * m.per_row, (rect.row1 - m.first_row) * m.per_row, y, m.image.height);
  const auto cols = span(rect.col0 - m.first_col, rect.col1 - m.first_col, x, m.image.width);
  float best = PixelImage::masked;
  for (int r = std::max(0, static_cast<int>(std::floor(rows.first))); r < m.rows && r < rows.second; ++r)
    for (int c = std::max(0, static_cast<int>(std::floor(cols.first))); c < m.cols && c < cols.second; ++c) {
      if (!visible(r, c)) continue;
      const float v = m.values[static_cast<std::size_t>(r) * static_cast<std::size_t>(m.cols) + static_cast<std::size_t>(c)];
      if (best == PixelImage::masked || std::abs(v) > std::abs(best)) best = v;
    }
  return best;
}

void check_pixels(Hand& hand, const CellPicture& m, const std::function<bool(int, int)>& visible, const std::string& what) {
  int wrong = 0;
  for (int y = 0; y < m.image.height; y += 3)
    for (int x = 0; x < m.image.width; x += 3) {
      const float pixel =
          m.image.pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(m.image.width) + static_cast<std::size_t>(x)];
      wrong += std::abs(pixel) != std::abs(heaviest(m, m.rect, x, y, visible));
    }
  hand.check(wrong == 0, what + ": " + std::to_string(wrong) + " pixels hide a cell or show a hidden one");
}

/// Odd sizes of window and zooms keep pixels and cells from aligning; keys are reversed; keys that a
/// row does not see are hidden.
CASE(maps, no_pixel_hides_a_cell) {
  constexpr Mask mask{Mask::Kind::window, 17};
  const auto sees = [&](int row, int key) {
    const Keys keys = visible_keys(mask, row, 96);
    return key >= keys.first && key < keys.end;
  };
  const auto sees_tile = [&](int row, int tile) {
    for (int stored = tile * 16; stored < tile * 16 + 16; ++stored)
      if (sees(row, 95 - stored)) return true;
    return false;
  };
  hand.stage.resize(1111, 733);
  for (const CellRect zoom : {CellRect{}, CellRect{3.3, 1.7, 77.7, 63.1}}) {
    Session s = masked(PictureKind::scores);
    s.experiment.problem.mask = mask;
    s.experiment.a.reverse_keys = true;
    s.view.score_look.zoom = zoom;
    s.view.rescale_look.zoom = zoom == CellRect{} ? zoom : CellRect{3.3, 0.7, 77.7, 4.9};
    hand.open(s);
    await_scores(hand);
    const ScoreState& scores = hand.stage.state->scores;
    check_pixels(
        hand, scores,
        [&](int r, int c) { return sees(r + static_cast<int>(scores.first_row), c + static_cast<int>(scores.first_col)); },
        "scores");
    hand.view().picture = PictureKind::rescales;
    hand.show(&View::rescale_show, RescaleShow::amount, 3);
    check_pixels(hand, hand.stage.state->rescale_map, sees_tile, "rescale map");
  }
}

CASE(maps, parts_of_large_scores) {
  Experiment e = default_experiment();
  e.problem.n = 1024;
  const ScoreQuestion whole = score_question(e, {0, 0, 1024, 1024}, 5, nullptr);
  hand.check(whole.rows == 1024 && whole.keys == 1024, "a small problem is shown whole");
  e.problem.n = 16384;
  const ScoreQuestion near = score_question(e, {100, 200, 164, 300}, 5, nullptr);
  hand.check(
      near.first_row <= 100 && near.first_row + near.rows >= 164 && near.first_key <= 200 && near.first_key + near.keys >= 300,
      "the window holds the shown cells");
  hand.check(near.rows > 64 && near.keys > 100, "and further cells around them");
  hand.check(score_question(e, {110, 210, 170, 290}, 5, &near) == near, "a move within the window asks nothing");
  Experiment other = e;
  other.problem.seed += 1;
  hand.check(score_question(other, {110, 210, 170, 290}, 5, &near).experiment == scored(other), "not for another experiment");
  for (const int row : {0, 7000, 16383})
    for (const int n : {16384, 1 << 20}) {
      e.problem.n = n;
      const ScoreQuestion part = score_question(e, {0, 0, double(n), double(n)}, row, nullptr);
      hand.check(static_cast<std::int64_t>(part.rows) * part.keys <= max_window_cells, "never more cells than fit");
      hand.check(part.first_row <= row && row < part.first_row + part.rows, "the part holds the traced row");
      hand.check(
          part.first_row >= 0 && part.first_row + part.rows <= n && part.first_key >= 0 && part.first_key + part.keys <= n,
          "the part lies in the matrix");
      hand.check(!holds(part, {0, 0, double(n), double(n)}), "the part does not hold all");
    }
}

CASE(maps, scores_are_those_of_the_kernel) {
  hand.open(masked(PictureKind::scores));
  await_scores(hand);
  const ScoreState& m = hand.stage.state->scores;
  const ScoreWindow expected = scores({hand.experiment(), 0, 96, 0, 96});
  if (!hand.check(m.rows == 96 && m.cols == 96, "all of them")) return;
  for (int row = 0; row < 96; ++row)
    for (int key = 0; key < 96; ++key) {
      const auto at = static_cast<std::size_t>(row * 96 + key);
      hand.check(m.values[at] == (key <= row ? expected.P[at] : 0), "P");
    }
  hand.show(&View::score_show, ScoreShow::P_error);
  hand.check(m.values[95 * 96 + 3] == expected.P[95 * 96 + 3] - expected.weight[95 * 96 + 3], "P - true weight");
}

CASE(maps, not_emulated) {
  Session s = small_session();
  for (const PictureKind kind : {PictureKind::rescales, PictureKind::scores})
    for (const Algorithm algorithm : {Algorithm::hardware, Algorithm::loaded, Algorithm::three_pass}) {
      hand.open(s);
      PanelInput& input = hand.tell();
      auto result = std::make_shared<Result>(*input.answer.result);
      result->experiment.a.algorithm = algorithm;
      if (!is_emulated(algorithm)) result->trace = {}, result->rescale_map = {}, result->rescales = {};
      hand.experiment().a.algorithm = algorithm;
      hand.view().picture = kind;
      input.answer.result = result;
      input.side.scores = nullptr;
      hand.frames(4);
      hand.check(!hand.exists(picture), "a sentence replaces the picture");
    }
}

/// The map of moves has no values, of which a pixel could show the largest.
CASE(maps, cells_under_a_pixel) {
  RescaleState map;
  map.rows = map.n = 200;
  map.per_row = 1;
  Places p;
  p.max = {100, 100};
  hand.expect_text(map_remark(map, p, {0, 0, 200, 4}), "a pixel shows a move in any of the 2 cells under it");
  map.rows = 100;
  map.show = RescaleShow::amount;
  hand.expect_text(map_remark(map, p, {0, 0, 200, 4}),
                   "100 of 200 rows; each pixel shows the largest |value| of the 2 cells under it");
  hand.expect_text(map_remark(map, p, {0, 0, 100, 4}), "100 of 200 rows; each cell is at least one pixel");
}

}  // namespace

}  // namespace attoscope::testing::map_cases
