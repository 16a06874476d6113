// The rescale map, the scores and all heads.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "app/heads/heads.h"
#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/questions/kv_cache.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/cases.h"
#include "tests/ui/explore/output_files.h"
#include "ui/frame/heads_answer.h"
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

HeadsView found_heads(Hand& hand) { return found_of(hand.stage.panel_input().side.heads, hand.experiment()); }

/// Waits until `found` has every head.
template <class Heads>
Heads await_all(Hand& hand, Heads found(Hand&)) {
  hand.await("all heads are there", [&] {
    const Heads heads = found(hand);
    return heads.rows && heads.all > 0 && static_cast<int>(heads.rows->size()) == heads.all;
  });
  return found(hand);
}
HeadsView await_heads(Hand& hand) { return await_all(hand, found_heads); }

/// Expects that a click on an item opens its head's output, and that undo comes back to all heads, where head 3 is open.
void expect_opened(Hand& hand, const std::string& item, int head) {
  hand.click(item, settled);
  hand.check(hand.experiment().problem.input.index == head, "a click opens the head");
  hand.check(hand.view().picture == PictureKind::output, "and shows its output");
  hand.check(hand.experiment().problem.n == 512, "of all tokens");
  hand.frames(3);
  hand.key(undo_key, settled);
  hand.check(hand.view().picture == PictureKind::heads && hand.experiment().problem.input.index == 3, "undo comes back");
}

std::string card(int head) { return heatmap + "**/##head " + std::to_string(head); }

CASE(maps, every_head) {
  hand.open(all_heads());
  hand.click(heatmap + "heads show/pictures", [](Session& s) { s.view.heads_show = HeadsShow::outputs; });
  const HeadsView heads = await_heads(hand);
  if (!hand.check(heads.rows && heads.rows->size() == 8, "eight heads are found")) return;
  std::vector<HeadRow> rows = *heads.rows;
  sort_worst_first(rows, head_measures[unusual_measure]);
  hand.frames(3);
  const ImVec2 worst = hand.place(card(rows[0].head), 0.5f), next = hand.place(card(rows[1].head), 0.5f);
  hand.check(worst.y < next.y || (worst.y == next.y && worst.x < next.x), "the worst head stands first");
  const ImVec2 below = hand.place(heatmap + "heads show/grid", 0, 1);
  hand.check(hand.explained_at({below.x + px(110), below.y + px(20)}), "the colours of the pictures are explained");
  const Session before = hand.session();
  expect_opened(hand, card(rows[0].head), rows[0].head);
  hand.check(found_heads(hand).rows->size() == 8, "what was found is kept");
  hand.choose(heatmap + "##heads layer", "###layer 1");
  hand.frames(2);
  hand.check(!hand.exists(card(0)) && hand.exists(card(5)), "only the heads of that layer");
  hand.choose(heatmap + "##heads sort", "###max_score");
  hand.choose(heatmap + "##heads layer", "###all");
  sort_worst_first(rows, head_measures[8]);
  hand.frames(2);
  hand.check(hand.place(card(rows[0].head), 0.5f).y <= hand.place(card(rows[7].head), 0.5f).y, "another order");
  hand.check(hand.session().experiment == before.experiment, "looking changes no experiment");
  hand.choose(heatmap + "##heads range", "###shared", [](Session& s) { s.view.heads_range = HeadsRange::shared; });
}

std::string table_row(int head) { return heatmap + "**/##head row " + std::to_string(head); }

/// A file of layers x heads similar heads, except one head with large scores and one with one huge V.
std::string file_with_two_bad_heads(const TemporaryDirectory& folder, int layers, int heads) {
  constexpr int n = 24, d = 8;
  std::vector<Stored> tensors;
  for (int layer = 0; layer < layers; ++layer)
    for (const char* part : {"q", "k", "v"})
      tensors.push_back({"layers." + std::to_string(layer) + "." + part, {heads, n, d}, {}});
  for (std::size_t i = 0; i < tensors.size(); ++i)
    for (int h = 0; h < heads; ++h) {
      Experiment e = small_session().experiment;
      e.problem.n = n, e.problem.d = d,
      e.problem.seed = static_cast<std::uint64_t>(heads) * (i / 3) + static_cast<std::uint64_t>(h) + 1;
      const Result r = compute(e);
      const std::vector<double>& of = i % 3 == 0 ? r.inputs->q : i % 3 == 1 ? r.inputs->k : r.inputs->v;
      const bool hot = i / 3 == 17 && h == 4 && i % 3 == 0;
      for (const double x : of) tensors[i].values.push_back(hot ? 32 * x : x);
      if (i / 3 == 23 && h == 2 && i % 3 == 2) tensors[i].values.back() = 2048;
    }
  return folder.write("dump.safetensors", bf16_file(tensors));
}

CASE(maps, numbers_in_the_cells) {
  for (const auto& [x, text] : {std::pair{0.0, "0.0"}, {0.046, "5e-2"}, {0.5, "0.5"}, {12.4, "12"}, {1960.0, "2e3"}})
    hand.expect_text(brief_number(x), text);
}

/// A click keeps the number of tokens, of which the grid shows the numbers.
CASE(maps, a_head_of_some_tokens) {
  hand.open(all_heads(128));
  await_heads(hand);
  hand.frames(3);
  hand.click(card(5), settled);
  hand.check(hand.experiment().problem.input.index == 5 && hand.view().picture == PictureKind::output, "the head is open");
  hand.check(hand.experiment().problem.n == 128, "with as many tokens");
}

/// 30 x 9 heads, one with scores far above the others', one with one huge V: both stand first and are named, and a click on
/// the grid, on the table or on a sentence opens one.
CASE(maps, two_bad_heads_of_270) {
  constexpr int layers = 30, heads = 9, hot = 17 * heads + 4, huge = 23 * heads + 2;
  hand.stage.resize(1600, 1000);
  hand.open_files({file_with_two_bad_heads(hand.folder, layers, heads)});
  hand.view().show_tensors = false;
  hand.view().picture = PictureKind::heads;
  const HeadsView found = await_heads(hand);
  if (!hand.check(found.rows && found.rows->size() == layers * heads, "270 heads are found")) return;
  hand.frames(3);
  const auto& shown = hand.stage.state->heads.outputs.shown;
  hand.check(std::set<int>{shown[0]->head, shown[1]->head} == std::set<int>{hot, huge}, "both bad heads stand first");
  const std::vector<HeadOutlier>& apart = hand.stage.state->heads.outliers;
  hand.check(apart.size() == 2, "they alone stand apart: " + std::to_string(apart.size()));
  double hottest = 0, next = 0;
  for (const HeadRow& row : *found.rows)
    (row.head == hot ? hottest : next) = std::max(row.head == hot ? hottest : next, row.largest_score);
  hand.check(hottest > 100 && next < 30, "the scores of the case");
  const auto& of_hot = *std::ranges::find(apart, hot, &HeadOutlier::head);
  hand.check(outlier_words(of_hot, "layer 17, head 4") ==
                 fmt::format("layer 17, head 4: largest score {:.3g}, the next has {:.3g}", hottest, next),
             outlier_words(of_hot, "layer 17, head 4"));
  const auto& of_huge = *std::ranges::find(apart, huge, &HeadOutlier::head);
  hand.check(outlier_words(of_huge, "layer 23, head 2").starts_with("layer 23, head 2: largest magnitude in V 2048, the next"),
             outlier_words(of_huge, "layer 23, head 2"));
  hand.check(hand.exists(card(0)) && hand.exists(card(layers * heads - 1)), "every head is in the grid");
  hand.check(hand.place(table_row(shown[0]->head), 0.5f).y < hand.place(table_row(shown[1]->head), 0.5f).y,
             "the table has the same order");
  hand.resize(1280, 800, 5);
  for (const char* key : {"unusual", "max_score", "a.rel_rms"}) {
    const ImVec2 heading = hand.place(heatmap + "**/###" + key, 1.0f);
    hand.check(heading.x < hand.place(heatmap, 1.0f).x, std::string(key) + " is seen without scrolling in 1280 x 800");
  }
  hand.choose(heatmap + "##heads sort", "###max_score");
  hand.frames(3);
  hand.check(shown[0]->head == hot, "another measure orders and colours them");
  const Table& table = hand.stage.state->heads.outputs.table;
  const auto* const kept = table.rows.data();
  hand.frames(3);
  hand.check(table.columns[1].key == "max_score" && table.rows.data() == kept, "the table changes with its order alone");
  for (const std::string& way : {card(huge), table_row(shown[1]->head), heatmap + "**/###apart " + std::to_string(hot)}) {
    hand.show(&View::picture, PictureKind::heads, 3);
    const int expected = way == card(huge) ? huge : way.ends_with("apart " + std::to_string(hot)) ? hot : shown[1]->head;
    hand.click(way, settled);
    hand.check(hand.experiment().problem.input.index == expected && hand.view().picture == PictureKind::output, way);
  }
}

/// A file of one head has no number that needs other heads.
CASE(maps, one_head) {
  hand.open_files({file_with_two_bad_heads(hand.folder, 1, 1)});
  hand.view().show_tensors = false;
  hand.view().picture = PictureKind::heads;
  await_heads(hand);
  hand.frames(3);
  const Table table = shown_heads_table(hand.stage.state->heads, hand.stage.panel_input().choices.tensors);
  hand.check(table.columns[1].key == "a.rel_rms", "the head is coloured by its error: " + table.columns[1].key);
  const auto unusual = std::ranges::find(table.columns, "unusual", &ColumnHeading::key);
  hand.check(std::holds_alternative<std::monostate>(table.rows[0][static_cast<std::size_t>(unusual - table.columns.begin())]),
             "the number that needs others is empty");
}

/// All heads are shown if another file has only one layer, and not the chosen one.
CASE(maps, layer_of_another_file) {
  hand.open(all_heads());
  hand.show(&View::heads_show, HeadsShow::outputs);
  hand.choose(heatmap + "##heads layer", "###layer 1");
  hand.open_files({file_with_two_bad_heads(hand.folder, 1, 2)});
  hand.view().show_tensors = false;
  hand.view().picture = PictureKind::heads;
  await_heads(hand);
  hand.frames(3);
  hand.check(hand.exists(card(0)) && hand.exists(card(1)), "both heads of the file's one layer");
}

/// No outliers among heads, or two, or three; a single head has none.
CASE(maps, no_head_stands_apart) {
  std::vector<HeadRow> rows(40);
  for (int i = 0; i < 40; ++i) {
    HeadRow& row = rows[static_cast<std::size_t>(i)];
    row.head = i, row.a_max = row.b_max = 1 + 0.01 * i, row.largest_score = 20 - 0.1 * i, row.largest_V = 4;
  }
  mark_unusual(rows);
  hand.check(head_outliers(rows).empty(), "no head is an outlier");
  hand.check(rows[39].unusual < 1.1 && rows[39].unusual > 1, "the largest is a little above the others");
  rows[7].largest_score = 59;
  mark_unusual(rows);
  hand.check(head_outliers(rows).empty(), "2.98 times is no outlier");
  rows[7].largest_score = 61, rows[8].a_max = 100;
  mark_unusual(rows);
  const std::vector<HeadOutlier> apart = head_outliers(rows);
  hand.check(apart.size() == 2 && apart[0].head == 8 && apart[1].head == 7 && apart[1].next == 20, "the more unusual first");
  rows[9].a_max = 50;
  mark_unusual(rows);
  const std::vector<HeadOutlier> three = head_outliers(rows);
  hand.check(three.size() == 3 && three[0].head == 8 && three[1].head == 7 && three[2].head == 9,
             "a head with another cause comes before a second head with the same cause");
  rows.resize(1);
  mark_unusual(rows);
  hand.check(std::isnan(rows[0].unusual) && head_outliers(rows).empty(), "a single head has no outliers");
}

/// A card has the same numbers as its head's own answer.
CASE(maps, heads_are_as_their_answers) {
  hand.open(all_heads());
  const HeadsView heads = await_heads(hand);
  hand.view().picture = PictureKind::output;
  hand.settle();
  const auto answer = hand.result();
  const auto own = std::ranges::find(*heads.rows, 3, &HeadRow::head);
  if (!hand.check(answer && own != heads.rows->end(), "the head that is open is among them")) return;
  hand.check(answer->a_error.max_abs == own->a_max && answer->b_error.rms == own->b_rms, "its numbers are those of the answer");
  hand.check(*std::ranges::max_element(own->picture) == static_cast<float>(own->a_max), "its picture has its largest error");
}

KvView found_kv(Hand& hand) { return found_of(hand.stage.panel_input().side.kv, kv_question(hand.experiment())); }

KvView await_kv(Hand& hand) { return await_all(hand, found_kv); }

std::string kv_row(int head) { return heatmap + "**/##kv head " + std::to_string(head); }
std::string kv_head(std::size_t storage) { return heatmap + "**/###" + std::string(kv_storages[storage].key); }

/// True if the rows are in this order from the top down.
bool stand_so(Hand& hand, const std::vector<KvRow>& rows) {
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (hand.place(kv_row(rows[i - 1].head), 0.5f).y >= hand.place(kv_row(rows[i].head), 0.5f).y) return false;
  return true;
}

CASE(maps, table_of_the_kv_cache) {
  hand.open(all_heads());
  hand.click(heatmap + "heads show/KV cache", [](Session& s) { s.view.heads_show = HeadsShow::kv_cache; });
  const KvView heads = await_kv(hand);
  if (!hand.check(heads.rows && heads.rows->size() == 8, "eight heads are found")) return;
  std::vector<KvRow> rows = *heads.rows;
  sort_worst_first(rows, usual_kv_order);
  hand.frames(3);
  hand.check(stand_so(hand, rows), "as the command orders them");
  for (const std::size_t by : {std::size_t{6}, std::size_t{0}, std::size_t{4}}) {
    hand.leaves("a click on the head of a column", [&] { hand.click(kv_head(by)); });
    sort_worst_first(rows, by);
    hand.frames(2);
    hand.check(stand_so(hand, rows), "orders by " + std::string(kv_storages[by].key));
  }
  hand.choose(heatmap + "##heads layer", "###layer 1");
  hand.frames(2);
  hand.check(!hand.exists(kv_row(0)) && hand.exists(kv_row(5)), "only the heads of that layer");
  hand.choose(heatmap + "##heads layer", "###all");
  expect_opened(hand, kv_row(6), 6);
  hand.check(hand.view().heads_show == HeadsShow::kv_cache, "to the table");
  hand.check(await_kv(hand).rows == heads.rows, "what was found is kept");
}

/// The window and `attoscope kv` show the same numbers, whatever methods the session has.
CASE(maps, kv_table_is_as_the_command) {
  Session s = all_heads();
  s.view.heads_show = HeadsShow::kv_cache;
  s.experiment.a.precision[Step::P] = to_format(e4m3);
  hand.open(s);
  std::vector<KvRow> shown = *await_kv(hand).rows, expected;
  const CallFiles files(s.experiment.problem.input.file);
  Experiment base = default_experiment();
  base.problem.input = s.experiment.problem.input;
  base.problem.mask = s.experiment.problem.mask;
  base.a.block_q = s.experiment.a.block_q, base.a.block_k = s.experiment.a.block_k;
  compute_kv_heads({base, true, heads_of_layer(files, "")}, files, {}, [&](const KvRow& row) { expected.push_back(row); });
  sort_worst_first(shown, 2);
  sort_worst_first(expected, 2);
  if (!hand.check(shown.size() == expected.size(), "as many heads")) return;
  for (std::size_t i = 0; i < shown.size(); ++i)
    hand.check(shown[i].head == expected[i].head && shown[i].errors == expected[i].errors, "the numbers of the command");
  hand.check(csv_text(shown_kv_table(hand.stage.state->heads, hand.stage.panel_input().choices.tensors)).size() ==
                 csv_text(kv_table(expected, files)).size(),
             "the table has the command's lines");
}

/// Some heads are found, others are pending; one has no number.
CASE(maps, kv_table_in_parts) {
  Session s = all_heads();
  s.view.heads_show = HeadsShow::kv_cache;
  hand.open(s);
  const std::vector<double> broken(kv_storages.size(), NAN), errors{0.002, 0.03, 0.02, 0.015, 0.008, 0.2, 0.1};
  const std::vector<KvRow> rows{{2, 0, errors}, {5, 1, broken}, {3, 0, errors}};
  hand.tell().side.kv = std::make_shared<const KvView>(
      KvView{*heads_of_file(kv_question(hand.experiment())), std::make_shared<const std::vector<KvRow>>(rows), 8, 12.5});
  hand.frames(4);
  hand.check(hand.place(kv_row(5), 0.5f).y < hand.place(kv_row(2), 0.5f).y, "what has no finite error stands first");
  hand.check(hand.place(kv_row(2), 0.5f).y < hand.place(kv_row(3), 0.5f).y, "then by their places");
  hand.leaves("stop", [&] { hand.click(heatmap + "###heads stop"); });
  hand.check(!hand.stage.state->heads.stopped.empty(), "the search stops");
  hand.leaves("go on", [&] { hand.click(heatmap + "###heads stop"); });
  hand.check(hand.stage.state->heads.stopped.empty(), "and goes on");
}

/// A stopped search without a head is not described as one that goes on; the heads of another file are searched.
CASE(maps, heads_stopped) {
  const std::string stop = heatmap + "###heads stop";
  hand.stage.resize(1600, 1000);
  hand.open(all_heads());
  hand.tell().side.heads = nullptr;
  hand.frames(4);
  const float before = hand.place(stop, 0).x;
  hand.leaves("stop", [&] { hand.click(stop); });
  hand.check(hand.place(stop, 0).x < before, "the text beside the button is the shorter one");
  hand.stage.told.reset();
  hand.open_files({file_with_two_bad_heads(hand.folder, 1, 2)});
  hand.view().picture = PictureKind::heads;
  hand.check(await_heads(hand).all == 2, "another file's heads are found");
}

/// Layers and heads as a tree in the head chooser.
CASE(maps, heads_as_a_tree) {
  hand.open(all_heads());
  const std::string chooser = controls + "##head";
  hand.choose(chooser, "###layer 0/###head 2");  // its layer is open
  hand.settle();
  hand.check(hand.experiment().problem.input.index == 2, "a head of the same layer is opened");
  hand.click(chooser);
  hand.pick("###layer 4");
  hand.pick("###layer 4/###head 6");
  hand.settle();
  hand.check(hand.experiment().problem.input.index == 6, "a head of another layer is opened");
}

/// Heads of several layers that a file has as one have no column numbers: 1 would be head 7. If one name does not fit, all
/// are shortened alike.
CASE(maps, columns_of_the_grid_of_heads) {
  TensorFileInfo info{.file = "", .heads = 2, .shape = {}, .head_names = {"layer 0, head 0", "layer 24, head 7"}};
  info.layers = {LayerEntry{.name = "", .heads = 2, .kv_heads = 2, .shape = {}}};
  hand.expect_text(column_label(info, 1, px(400)), "layer 24, head 7");
  hand.expect_text(column_label(info, 1, px(40)), "24:7");
  hand.expect_text(column_label(info, 1, px(20)), "");
  hand.expect_text(column_label(info, 0, text_width(Face::mono_small, "layer 0, head 0") + px(11)), "0:0");
  hand.expect_text(column_label(info, 0, text_width(Face::mono_small, "0:0")), "");  // 24:7 does not fit
  info.head_names = {"head 0", "head 1"};
  hand.expect_text(column_label(info, 1, px(20)), "1");
  info.layers[0].name = "layer 3";
  info.head_names = {"layer 3, head 0", "layer 3, head 1"};
  hand.expect_text(column_label(info, 1, px(400)), "1");
}

CASE(maps, no_heads_of_draws) {
  hand.open(masked(PictureKind::heads), 3);
  hand.check(!hand.exists(heatmap + "##heads sort"), "a sentence stands where the heads would be");
  hand.show(&View::heads_show, HeadsShow::kv_cache, 3);
  hand.check(!hand.exists(heatmap + "heads show/grid") && !hand.stage.panel_input().side.kv, "and the table too");
}

}  // namespace

}  // namespace attoscope::testing::map_cases
