// The backward pass in the picture and in the numbers: tensors, P, dP and dS by rows and keys, clicks and exports.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/rules.h"
#include "kernels/questions/gradient_window.h"
#include "tests/ui/cases.h"
#include "ui/frame/ui_state.h"
#include "ui/picture/heatmap_view.h"
#include "ui/picture/pictures.h"
#include "ui/recurrence/recurrence.h"
#include "ui/statistics/statistics.h"

namespace attoscope::testing::gradient_cases {
namespace {

constexpr int queries = 96, keys = 80, d = 16, d_v = 8;
const std::string picture = heatmap + "picture";

/// A causal session with a backward pass, more keys than queries and other columns of V than of Q.
Session with_gradients() {
  Session s = small_session();
  Problem& p = s.experiment.problem;
  p.n_k = keys;
  p.d_v = d_v;
  p.mask.kind = Mask::Kind::causal;
  s.experiment = with_backward(s.experiment);
  s.experiment.backward.a.block_q = s.experiment.backward.a.block_k = 16;
  return s;
}

/// with_gradients() with the picture of `tensor`.
Session looking_at(AnswerTensor tensor) {
  Session s = with_gradients();
  s.view.tensor = tensor;
  return s;
}

std::string item_of_tensor(AnswerTensor t) { return "###" + std::string(name(t)); }

/// Golden, a and b of a tensor, directly from the answer.
std::array<const Matrix*, 3> matrices_of(const Result& r, AnswerTensor t) {
  const BackwardResult& back = *r.backward;
  switch (t) {
    case AnswerTensor::O:
      return {r.golden.get(), &r.a, &r.b};
    case AnswerTensor::dO:
      return {back.d_o.get(), back.d_o.get(), back.d_o.get()};
    case AnswerTensor::dQ:
      return {&back.golden->dq, &back.a.dq, &back.b.dq};
    case AnswerTensor::dK:
      return {&back.golden->dk, &back.a.dk, &back.b.dk};
    case AnswerTensor::dV:
      break;
  }
  return {&back.golden->dv, &back.a.dv, &back.b.dv};
}

ImVec2 cell_place(Hand& hand, int row, int rows, int col, int cols) {
  return hand.place(picture, (static_cast<float>(col) + 0.5f) / static_cast<float>(cols),
                    (static_cast<float>(row) + 0.5f) / static_cast<float>(rows));
}

CASE(gradients, every_tensor_is_drawn) {
  hand.open(with_gradients());
  Picture before{};
  for (const AnswerTensor t : {AnswerTensor::dO, AnswerTensor::dQ, AnswerTensor::dK, AnswerTensor::dV, AnswerTensor::O}) {
    const std::string tensor(name(t));
    hand.changes(tensor, [&] { hand.choose(heatmap + "##tensor", item_of_tensor(t)); }, [&](Session& s) { s.view.tensor = t; });
    for (const Field field : {Field::golden, Field::a, Field::b, Field::a_error, Field::a_ulps, Field::a_relative}) {
      hand.show(&View::field, field);
      const auto expected = matrices_of(*hand.result(), t);
      const HeatState& heat = hand.stage.state->heat;
      const bool by_keys = has_keys_as_rows(t);
      hand.check(heat.n == (by_keys ? keys : queries) && heat.keys_down == by_keys, tensor + ": rows");
      hand.check(heat.across == (t == AnswerTensor::dQ || t == AnswerTensor::dK ? d : d_v), tensor + ": columns");
      bool same = heat.values.size() == expected[0]->values.size();
      for (std::size_t i = 0; same && i < heat.values.size(); ++i) {
        const double golden = expected[0]->values[i], a = expected[1]->values[i];
        if (field == Field::golden) same = heat.values[i] == static_cast<float>(golden);
        if (field == Field::a) same = heat.values[i] == static_cast<float>(a);
        if (field == Field::b) same = heat.values[i] == static_cast<float>(expected[2]->values[i]);
        if (field == Field::a_error) same = heat.values[i] == static_cast<float>(a - golden);
      }
      hand.check(same, tensor + " " + std::string(text(field).name) + ": the numbers of the answer");
    }
    hand.show(&View::field, Field::golden);
    const Picture now = hand.picture();
    hand.check(now.rgb != before.rgb, tensor + " is another picture");
    before = now;
  }
}

/// The cache keeps a tensor's picture as long as its answer.
CASE(gradients, seen_once) {
  hand.open(looking_at(AnswerTensor::dK), 2);
  const auto seen = hand.stage.state->seen.shown.result;
  hand.frames(5);
  hand.check(seen && hand.stage.state->seen.shown.result == seen, "the tensor is not made again");
}

CASE(gradients, csv_of_the_picture) {
  hand.open(looking_at(AnswerTensor::dK), 2);
  const PanelInput input = hand.stage.panel_input();
  const auto [golden, a, b] = matrices_of(*input.answer.result, AnswerTensor::dK);
  std::string expected = "dK key";
  for (int c = 0; c < d; ++c) expected += "," + std::to_string(c);
  const std::string csv = picture_csv(hand.view(), input, hand.stage.state->heat);
  hand.check(csv.starts_with(expected + "\n") || csv.starts_with(expected + "\r\n"), csv.substr(0, 80));
  hand.check(std::ranges::count(csv, '\n') == keys + 1, "a line for each key");
  std::size_t at = csv.find('\n') + 1;
  for (int row = 0; row < keys; ++row) {
    hand.check(std::stoi(csv.substr(at)) == row, "in their order");
    for (int c = 0; c < d; ++c) {
      at = csv.find(',', at) + 1;
      if (!hand.check(std::stof(csv.substr(at, 24)) == static_cast<float>((*a)(row, c) - (*golden)(row, c)), "the error of a"))
        return;
    }
    at = csv.find('\n', at) + 1;
  }
}

CASE(gradients, csv_of_the_details) {
  hand.open(looking_at(AnswerTensor::dV), 2);
  const PanelInput input = hand.stage.panel_input();
  const ShownTensor& shown = hand.stage.state->seen.shown;
  const std::string scatter = detail_csv({.detail = Detail::scatter}, input, shown);
  hand.check(scatter.starts_with("key,column,dV_golden,dV_a_error,dV_b_error"), scatter.substr(0, 60));
  hand.check(std::ranges::count(scatter, '\n') == keys * d_v + 1, "a line for each element");
  const std::string ulps = detail_csv({.detail = Detail::ulps}, input, shown);
  hand.check(ulps.starts_with("from_ulps,dV_a,dV_b"), ulps.substr(0, 30));
  hand.check(ulps.substr(ulps.find('\n')) !=
                 detail_csv({.detail = Detail::ulps}, input, {.result = input.answer.result}).substr(ulps.find('\n')),
             "other errors than O's");
}

CASE(gradients, clicks_follow_a_query) {
  hand.open(looking_at(AnswerTensor::dQ));
  hand.show(&View::follows_key, true);
  hand.press(cell_place(hand, 40, queries, 3, d), [](Session& s) {
    s.view.cell_row = s.experiment.problem.traced_row = 40;
    s.view.cell_col = 3;
    s.view.follows_key = false;
  });
}

CASE(gradients, clicks_follow_a_key) {
  for (const AnswerTensor t : {AnswerTensor::dK, AnswerTensor::dV}) {
    hand.open(looking_at(t), 40);
    hand.press(cell_place(hand, 61, keys, 5, t == AnswerTensor::dK ? d : d_v), [](Session& s) {
      s.view.cell_row = s.view.traced_key = 61;
      s.view.cell_col = 5;
      s.view.follows_key = true;
    });
    hand.check(followed_key(hand.view(), hand.experiment().problem) == 61, "the key is marked");
    const HeatState& heat = hand.stage.state->heat;
    hand.expect_text(cell_words(heat, 61, 5), std::string(name(t)) + ": key 61, dim 5");
  }
}

CASE(gradients, double_click_restores) {
  hand.open(looking_at(AnswerTensor::dK));
  hand.leaves("double click", [&] { hand.press(cell_place(hand, 20, keys, 5, d), 2); });
}

/// A zoom and a pinned cell of queries do not stay for a tensor whose rows are keys.
CASE(gradients, other_rows_show_all) {
  hand.open(looking_at(AnswerTensor::dQ));
  hand.view().zoom = {10, 0, 20, 16};
  hand.view().cell_row = 90, hand.view().cell_col = 2;
  hand.frames(2);
  hand.choose(heatmap + "##tensor", item_of_tensor(AnswerTensor::dO), [](Session& s) { s.view.tensor = AnswerTensor::dO; });
  hand.choose(heatmap + "##tensor", item_of_tensor(AnswerTensor::dK), [](Session& s) {
    s.view.tensor = AnswerTensor::dK;
    s.view.zoom = {};
    s.view.cell_row = s.view.cell_col = -1;
  });
}

CASE(gradients, nan_and_infinities) {
  hand.open(looking_at(AnswerTensor::dK), 2);
  hand.tell();
  auto other = std::make_shared<Result>(*hand.stage.told->answer.result);
  other->backward->a.dk.values[5] = std::nan("");
  other->backward->a.dk.values[6] = std::numeric_limits<double>::infinity();
  other->backward->a_error.dk.nonfinite = 2;
  hand.stage.told->answer.result = other;
  hand.frames(3);
  const HeatState& heat = hand.stage.state->heat;
  hand.check(heat.has_nan && heat.has_infinity, "the colour bar names NaN and infinity");
  hand.check(has(picture_csv(hand.view(), *hand.stage.told, heat), "nan"), "the file has them");
  hand.show(&View::tensor, AnswerTensor::dV, 3);
  hand.check(!hand.stage.state->heat.has_nan, "dV has no NaN");
}

CASE(gradients, comparisons_and_curves) {
  hand.open(looking_at(AnswerTensor::dV));
  for (const Comparison way : {Comparison::side_by_side, Comparison::swipe, Comparison::none}) {
    hand.view().comparison = way;
    hand.show(&View::profiles, true, 3);
    const UiState& state = *hand.stage.state;
    if (way != Comparison::none) hand.check(state.second.result == state.heat.result, "b's error of the same tensor");
    hand.check(!state.profiles.along_row.empty() && state.profiles.along_row[0].values.size() == d_v &&
                   state.profiles.along_col[0].values.size() == keys,
               "curves over the tensor's rows and columns");
  }
}

/// A session without a backward pass has no control of gradients, and shows O whatever tensor it had chosen.
CASE(gradients, unchanged_without_a_backward_pass) {
  hand.frames(2);
  const std::vector<float> before = hand.stage.state->heat.values;
  hand.view().tensor = AnswerTensor::dK;
  hand.show(&View::pair_show, PairShow::dS, 3);
  hand.check(!hand.exists(heatmap + "##tensor") && !hand.exists(statistics + "**/##tensor dK"), "nothing to choose");
  hand.check(hand.stage.state->heat.is_output() && hand.stage.state->heat.values == before, "the output as before");
}

CASE(gradients, table_of_the_tensors) {
  hand.stage.resize(1600, 1000);
  hand.open(with_gradients(), 3);
  const Result& r = *hand.result();
  const Table table = tensor_table(r);
  hand.check(table.rows.size() == 4, "O, dQ, dK and dV");
  hand.check(std::get<double>(table.rows[2][1]) == r.backward->a_error.dk.mean_abs &&
                 std::get<double>(table.rows[3][6]) == r.backward->b_error.dv.rel_rms,
             "the errors of the answer");
  for (const AnswerTensor t : {AnswerTensor::dK, AnswerTensor::dQ, AnswerTensor::O})
    hand.click(statistics + "**/##tensor " + std::string(name(t)), [&](Session& s) { s.view.tensor = t; });
  const ImVec2 below = hand.place(statistics + "**/##tensor dV", 0, 1);
  float explained = 0;
  for (float y = 1; y < 40; y += 2) explained += hand.explained_at({below.x + px(30), below.y + y}) ? 2.0f : 0;
  hand.check(explained > 1.5f * line_height(Face::small), "delta's bias goes on in a second line");
}

// --- P, dP and dS -----------------------------------------------------------------------------------------------------

/// A window made by hand: tensor t of golden, a and b at (row, key) is 1000 t + row + key / 100, and 1 and 2 more.
std::shared_ptr<const GradientWindow> window_by_hand(const Experiment& e, int first_row, int rows, int first_key, int count) {
  auto window = std::make_shared<GradientWindow>();
  window->question = {scored(e), first_row, rows, first_key, count};
  for (std::size_t t = 0; t < pair_tensor_names.size(); ++t)
    for (int row = first_row; row < first_row + rows; ++row)
      for (int key = first_key; key < first_key + count; ++key) {
        const Keys seen = visible_keys(e.problem, row);
        const double unseen = key < seen.first || key >= seen.end ? std::nan("") : 0;
        const double value = 1000 * static_cast<double>(t) + row + key / 100.0 + unseen;
        PairValues& values = window->tensors[t];
        values.golden.push_back(value);
        values.a.push_back(value + 1);
        values.b.push_back(value + 2);
      }
  return window;
}

Session looking_at_pairs(PairShow pair) {
  Session s = with_gradients();
  s.view.picture = PictureKind::scores;
  s.view.pair_show = pair;
  return s;
}

/// Shows the window of rows 8 to 71 and keys 4 to 67 with the numbers of window_by_hand.
void tell_window(Hand& hand) {
  hand.tell().side.gradient_window = window_by_hand(hand.experiment(), 8, 64, 4, 64);
  hand.frames(3);
}

CASE(gradients, pairs_are_chosen) {
  Session session = with_gradients();
  session.view.picture = PictureKind::scores;
  hand.open(session);
  for (const auto& [item, pair] : {std::pair{"backward_P", PairShow::P}, {"dS", PairShow::dS}})
    hand.choose(heatmap + "##score", std::string("###") + item, [pair = pair](Session& s) { s.view.pair_show = pair; });
  hand.choose(heatmap + "##score", "###S",
              [](Session& s) { s.view.pair_show = PairShow::none, s.view.score_show = ScoreShow::S; });
}

CASE(gradients, pairs_of_a_window) {
  hand.open(looking_at_pairs(PairShow::dS));
  tell_window(hand);
  const HeatState& heat = hand.stage.state->heat;
  hand.check(heat.name == "dS" && heat.n == queries && heat.across == keys && heat.first_row == 8 && heat.first_col == 4,
             "the window lies on the axes of queries and keys");
  hand.check(!heat.has_nan && heat.largest == 1, "a - golden is 1 where it is seen");
  hand.show(&View::field, Field::b);
  const Keys seen = visible_keys(hand.experiment().problem, 60);
  const float expected = static_cast<float>(2060 + (seen.end - 1) / 100.0 + 2);
  hand.check(heat.values[static_cast<std::size_t>((60 - 8) * 64 + seen.end - 1 - 4)] == expected, "b of the last seen key");
  hand.check(heat.values[static_cast<std::size_t>((60 - 8) * 64 + seen.end - 4)] == 0, "the key after it has 0");
  const std::string csv = picture_csv(hand.view(), *hand.stage.told, heat);
  const bool begins_masked = visible_keys(hand.experiment().problem, 8).end <= 4;
  hand.check(csv.starts_with("dS row,4,5,6,") && has(csv, "\n8,nan") == begins_masked, csv.substr(0, 60));
  hand.view().comparison = Comparison::side_by_side;
  hand.show(&View::profiles, true, 3);
  hand.check(hand.stage.state->second.first_col == 4 && hand.stage.state->second.result == heat.result, "in both pictures");
}

CASE(gradients, click_in_a_window) {
  hand.open(looking_at_pairs(PairShow::dP));
  tell_window(hand);
  hand.frames(40);
  hand.press(cell_place(hand, 50, queries, 20, keys));
  hand.frames(2);
  hand.check(hand.experiment().problem.traced_row == 50 && hand.view().traced_key == 20, "row and key are traced");
  hand.check(hand.view().cell_row == -1, "no cell is pinned");
  const Session before = hand.session();
  hand.frames(40);
  hand.press(cell_place(hand, 2, queries, 2, keys));
  hand.frames(2);
  hand.check(hand.session() == before, "outside the window a click does nothing");
}

}  // namespace
}  // namespace attoscope::testing::gradient_cases
