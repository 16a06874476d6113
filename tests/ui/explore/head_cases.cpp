// All heads of a call: cards, the table of the KV cache, the tree.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "app/heads/heads.h"
#include "kernels/compute.h"
#include "kernels/questions/kv_cache.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/cases.h"
#include "tests/ui/explore/output_files.h"
#include "ui/frame/heads_answer.h"
#include "ui/picture/heatmap_view.h"
#include "ui/picture/pictures.h"

namespace attoscope::testing::head_cases {
namespace {

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

CASE(heads, every_head) {
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

CASE(heads, numbers_in_the_cells) {
  for (const auto& [x, text] : {std::pair{0.0, "0.0"}, {0.046, "5e-2"}, {0.5, "0.5"}, {12.4, "12"}, {1960.0, "2e3"}})
    hand.expect_text(brief_number(x), text);
}

/// A click keeps the number of tokens, of which the grid shows the numbers.
CASE(heads, a_head_of_some_tokens) {
  hand.open(all_heads(128));
  await_heads(hand);
  hand.frames(3);
  hand.click(card(5), settled);
  hand.check(hand.experiment().problem.input.index == 5 && hand.view().picture == PictureKind::output, "the head is open");
  hand.check(hand.experiment().problem.n == 128, "with as many tokens");
}

/// 30 x 9 heads, one with scores far above the others', one with one huge V: both stand first and are named, and a click on
/// the grid, on the table or on a sentence opens one.
CASE(heads, two_bad_heads_of_270) {
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
CASE(heads, one_head) {
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
CASE(heads, layer_of_another_file) {
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
CASE(heads, no_head_stands_apart) {
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
CASE(heads, heads_are_as_their_answers) {
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

CASE(heads, table_of_the_kv_cache) {
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
CASE(heads, kv_table_is_as_the_command) {
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
CASE(heads, kv_table_in_parts) {
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
CASE(heads, heads_stopped) {
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
CASE(heads, heads_as_a_tree) {
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
CASE(heads, columns_of_the_grid_of_heads) {
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

CASE(heads, no_heads_of_draws) {
  Session s = small_session();
  s.view.picture = PictureKind::heads;
  hand.open(s, 3);
  hand.check(!hand.exists(heatmap + "##heads sort"), "a sentence stands where the heads would be");
  hand.show(&View::heads_show, HeadsShow::kv_cache, 3);
  hand.check(!hand.exists(heatmap + "heads show/grid") && !hand.stage.panel_input().side.kv, "and the table too");
}

}  // namespace

}  // namespace attoscope::testing::head_cases
