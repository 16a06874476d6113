// The backward pass in the strip, in why, bits and traffic: made-up values against drawings, effects of clicks and files.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "kernels/compute.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/traffic.h"
#include "kernels/questions/attribution.h"
#include "kernels/questions/gradient_attribution.h"
#include "kernels/questions/gradient_spread.h"
#include "tests/ui/cases.h"
#include "ui/frame/ui_state.h"
#include "ui/recurrence/recurrence.h"
#include "ui/statistics/statistics.h"
#include "ui/words/numbers.h"

namespace attoscope::testing::gradient_strip_cases {
namespace {

Session backward_session() {
  Session s = small_session();
  s.experiment = with_backward(s.experiment);
  s.experiment.problem.traced_row = 40;
  for (GradMethod* const m : {&s.experiment.backward.a, &s.experiment.backward.b}) m->block_q = m->block_k = 16;
  return s;
}

/// Key tile `tile` of a query, with a different value in each field.
QueryTile query_tile(int tile, double x) {
  return {.tile = tile,
          .largest_P = 0.1 + x,
          .largest_dP = 2 + x,
          .largest_dS = 1e-3 + x,
          .seen = 16,
          .lost = tile,
          .added = 0.5 + x,
          .dq_norm = 3 + x,
          .dq_error = 1e-6 + x};
}
KeyTile key_tile(int tile, double x) {
  return {.tile = tile,
          .largest_P = 0.2 + x,
          .largest_dS = 2e-3 + x,
          .seen = 16,
          .lost = tile,
          .dk_norm = 4 + x,
          .dv_norm = 5 + x,
          .dk_error = 2e-6 + x,
          .dv_error = 3e-6 + x};
}

/// Six tiles of a in descending order, and three of b ascending.
std::shared_ptr<GradientTrace> made_trace(const Session& s) {
  auto t = std::make_shared<GradientTrace>();
  t->question = gradient_question(s);
  t->golden_delta = 0.25;
  t->a.delta = 0.2500125, t->b.delta = 0.25001;
  for (int i = 5; i >= 0; --i) t->a.of_query.push_back(query_tile(i, 0.01 * i));
  for (int i = 0; i < 3; ++i) t->b.of_query.push_back(query_tile(i, 0.02 * i));
  for (int i = 0; i < 6; ++i) t->a.of_key.push_back(key_tile(i, 0.01 * i));
  return t;
}

/// Opens the session with an answer and the values that `beside` sets.
void tell(Hand& hand, const Session& s, const std::function<void(PanelInput&)>& beside) {
  hand.stage.open(s);
  PanelInput input;
  input.answer.result = std::make_shared<const Result>(compute(s.experiment));
  input.side.gradient_trace = made_trace(s);
  beside(input);
  hand.stage.told = input;
  hand.frames(3);
}

CASE(gradients, switch_of_the_pass) {
  tell(hand, backward_session(), [](PanelInput&) {});
  hand.check(hand.exists(strip + "Largest P") && !hand.exists(strip + "running max"), "the query's key tiles are shown");
  hand.view().scrubbed_tile = 2, hand.view().tiles = {1.5, 3.5};
  hand.click(strip + "pass/forward");
  hand.frames(2);
  hand.check(hand.view().follows_forward && hand.view().scrubbed_tile == -1 && hand.view().tiles == TileRange{},
             "forward resets tile and range");
  hand.check(hand.exists(strip + "running max") && !hand.exists(strip + "Largest P"), "forward shows the recurrence");
  hand.click(strip + "pass/key 40");
  hand.frames(2);
  hand.check(!hand.view().follows_forward && hand.view().follows_key && hand.exists(strip + "Errors of dK, dV so far"),
             "the key's query tiles");
  hand.click(strip + "pass/query 40");
  hand.frames(2);
  hand.check(!hand.view().follows_key && hand.exists(strip + "Error of dQ so far"), "the query's key tiles again");
  hand.experiment().backward.on = false;
  hand.frames(2);
  hand.check(!hand.exists(strip + "pass/forward") && hand.exists(strip + "running max"), "without a backward pass no switch");
}

CASE(gradients, key_of_the_query) {
  View view;
  Problem p = backward_session().experiment.problem;
  hand.check(followed_key(view, p) == 40, "the traced query's own key");
  p.n_k = 200;
  hand.check(followed_key(view, p) == 40 + 104, "with more keys the query is at their end");
  p.n_k = 20;
  hand.check(followed_key(view, p) == 0, "with fewer keys key 0");
  view.traced_key = 500;
  hand.check(followed_key(view, p) == 19, "never a key beyond the last");
}

/// The plots show every number of every tile, in a's order, with b's tiles spread evenly over the same width.
CASE(gradients, values_of_the_plots) {
  const Session s = backward_session();
  const std::shared_ptr<const GradientTrace> t = made_trace(s);
  const GradientAxis axis = gradient_axis(*t, false);
  hand.check(!axis.by_index && axis.first == 0 && axis.tiles == std::vector{5, 4, 3, 2, 1, 0}, "tiles out of order");
  const auto panel = [&](Plot p, bool of_key) { return gradient_panel(p, *t, of_key); };
  const FigurePanel P = panel(Plot::largest_P, false), dS = panel(Plot::largest_dS, false), lost = panel(Plot::lost_dS, false),
                    sums = panel(Plot::gradient_sums, false), error = panel(Plot::error, false);
  hand.check(P.series.size() == 2 && dS.series.size() == 4 && lost.series.size() == 2 && sums.series.size() == 4 &&
                 error.series.size() == 2,
             "curves of a and b");
  for (std::size_t i = 0; i < 6; ++i) {
    const QueryTile& q = t->a.of_query[i];
    hand.check(P.series[0].x[i] == static_cast<double>(i) && P.series[0].y[i] == q.largest_P, "P of a");
    hand.check(dS.series[0].y[i] == q.largest_dS && dS.series[2].y[i] == q.largest_dP && dS.series[2].dashed, "dS, dP - delta");
    hand.check(lost.series[0].y[i] == q.lost / 16.0, "the lost share");
    hand.check(sums.series[0].y[i] == q.added && sums.series[2].y[i] == q.dq_norm, "norms of the added part and of dQ");
    hand.check(error.series[0].y[i] == q.dq_error, "the error so far");
  }
  hand.check(P.series[1].ink == Ink::b && P.series[1].x == std::vector{0.5, 2.5, 4.5}, "three tiles of b share six of a");
  hand.check(*P.x.min == -0.5 && *P.x.max == 5.5 && P.x.label.starts_with("key tile, by its place"), P.x.label);
  const FigurePanel norms = panel(Plot::gradient_sums, true), errors = panel(Plot::error, true);
  hand.check(norms.series.size() == 2 && errors.series.size() == 2 && norms.x.label == "query tile",
             "only a has tiles of the key");
  for (std::size_t i = 0; i < 6; ++i) {
    const KeyTile& k = t->a.of_key[i];
    hand.check(norms.series[0].y[i] == k.dk_norm && norms.series[1].y[i] == k.dv_norm, "dK and dV so far");
    hand.check(errors.series[0].y[i] == k.dk_error && errors.series[1].y[i] == k.dv_error, "their errors");
  }
  hand.check(gradient_line(*t, false).ends_with("golden 0.25000") && has(gradient_line(*t, false), "0.25001"),
             gradient_line(*t, false));
  hand.expect_text(gradient_line(*t, true), "key 40 is seen by 96 queries");
  const std::string note = gradient_note(*t, false, 0);
  hand.check(has(note, "key tile 5, keys 80 .. 95") && has(note, "5 of 16 dS lost"), note);
}

/// Tiles are drawn at their index if a mask skips the first ones.
CASE(gradients, tiles_by_their_index) {
  auto t = std::make_shared<GradientTrace>();
  t->question = gradient_question(backward_session());
  for (int i = 2; i < 5; ++i) t->a.of_query.push_back(query_tile(i, 0));
  const FigurePanel P = gradient_panel(Plot::largest_P, *t, false);
  hand.check(P.series.size() == 1 && P.series[0].x == std::vector{2.0, 3.0, 4.0} && *P.x.min == 1.5 && *P.x.max == 4.5,
             "three tiles from tile 2");
  hand.check(why_no_gradients(*t, false).empty() && why_no_gradients(*t, true).starts_with("Key 40 is seen by no query"),
             why_no_gradients(*t, true));
}

CASE(gradients, scrubber_of_the_tiles) {
  tell(hand, backward_session(), [](PanelInput&) {});
  hand.press(hand.on_plot(strip + "Error of dQ so far", 1, 0.5f));
  hand.check(hand.view().scrubbed_tile == 1, "a click scrubs");
  hand.key(ImGuiKey_Period);
  hand.check(hand.view().scrubbed_tile == 2, "the period goes one tile on");
  hand.click(strip + "###first tile");
  hand.check(hand.view().scrubbed_tile == 0, "the button goes to the first tile");
  hand.key(ImGuiKey_Comma);
  hand.check(hand.view().scrubbed_tile == 0, "the comma stays at the first tile");
  hand.click(strip + "###last tile");
  hand.check(hand.view().scrubbed_tile == -1, "the last tile follows the end");
  hand.check(!hand.exists(strip + "###next rescale"), "no rescales in a backward pass");
  hand.key(ImGuiKey_J);
  hand.check(hand.stage.state->playback.playing && hand.view().scrubbed_tile == 0, "J plays from the first tile");
  hand.frames(15 * 8);
  hand.check(!hand.stage.state->playback.playing && hand.view().scrubbed_tile == -1, "and stops at the last tile");
  hand.check(hand.explained_at(hand.on_plot(strip + "dS lost to 0", 2, 0.5f)), "the tile under the mouse has a tooltip");
  hand.click(strip + "legend Largest P 1");
  hand.frames(2);
  hand.check(hand.stage.state->gradients->hidden[0] == 2, "a name hides its curve");
}

/// Numbers that are not finite, one tile, thousands of tiles and none are drawn.
CASE(gradients, extreme_tiles) {
  const Session s = backward_session();
  for (const int count : {0, 1, 5000}) {
    tell(hand, s, [&](PanelInput& input) {
      auto t = made_trace(s);
      t->a.of_query.clear(), t->b.of_query.clear();
      for (int i = 0; i < count; ++i) {
        t->a.of_query.push_back(query_tile(i * 7 % 5003, 0));
        t->a.of_query.back().dq_error = i % 3 == 0 ? std::nan("") : HUGE_VAL;
        t->a.of_query.back().largest_dS = 0;
      }
      input.side.gradient_trace = t;
    });
    hand.check(hand.exists(strip + "Largest P") == (count > 0), std::to_string(count) + " tiles");
    hand.key(ImGuiKey_Comma);
    hand.frames(2);
  }
}

CASE(gradients, step_in_words) {
  GradientTrace t = *made_trace(backward_session());
  const auto expect = [&](const char* error) { hand.expect_text(gradient_step(t, true, 1).error, error); };
  expect("error so far 1.00e-2");
  t.a.of_key[1].dk_error = 0.5;
  expect("error so far 5.00e-1");
  t.a.of_key[1].dk_error = std::nan("");
  expect("error so far NaN");
}

CASE(gradients, numbers_of_the_strip) {
  const std::shared_ptr<const GradientTrace> t = made_trace(backward_session());
  const std::string query = gradients_csv(*t, false), key = gradients_csv(*t, true);
  hand.check(std::ranges::count(query, '\n') == 1 + 6 + 3 && query.starts_with("method,key_tile,largest_p,") &&
                 has(query, "\na,5,0.15") && has(query, "\nb,2,"),
             query);
  hand.check(std::ranges::count(key, '\n') == 1 + 6 && key.starts_with("method,query_tile,"), key);
}

/// Shares with a different relief for each gradient.
GradAttribution made_attribution(const Experiment& e) {
  GradAttribution all{.experiment = e};
  for (StepError& total : all.total) total.mean_abs = 1;
  const std::array<std::array<double, 3>, 3> reliefs{{{0.1, 0.5, -0.1}, {0.4, 0.2, 0.3}, {std::nan(""), 0.3, 0.1}}};
  const std::array<GradSource, 3> sources{GradSource{.step = GradStep::dS}, GradSource{.step = GradStep::P},
                                          GradSource{.forward = true}};
  for (std::size_t i = 0; i < 3; ++i) {
    GradShare share{.source = sources[i], .relief = reliefs[i]};
    for (std::size_t g = 0; g < 3; ++g) share.without[g].mean_abs = 1 - reliefs[i][g], share.alone[g].mean_abs = reliefs[i][g];
    all.shares.push_back(share);
  }
  return all;
}

/// *why* lists the steps of the shown tensor by their share of its error; a click makes one exact in the backward pass alone.
CASE(gradients, why_of_a_gradient) {
  Session s = backward_session();
  s.experiment.backward.a.precision[GradStep::dS] = to_main;
  const GradAttribution all = made_attribution(s.experiment);
  const auto names = [&](AnswerTensor t) {
    std::string text;
    for (const NamedShare& share : named_shares(sorted_shares(all, t), t)) text += std::string(share.name) + " ";
    return text;
  };
  hand.expect_text(names(AnswerTensor::dQ), "P dS forward pass ");
  hand.expect_text(names(AnswerTensor::dK), "dS forward pass P ");
  hand.expect_text(names(AnswerTensor::dV), "P forward pass dS ");
  s.view.detail = Detail::why;
  s.view.tensor = AnswerTensor::dK;
  tell(hand, s, [&](PanelInput& input) { input.side.gradient_why = std::make_shared<const GradAttribution>(all); });
  hand.check(hand.exists(statistics + "steps/##why dS") || hand.exists(statistics + "**/##why dS"), "the step is listed");
  Experiment expected = s.experiment;
  expected.backward.a.precision[GradStep::dS] = {};
  hand.click(statistics + "**/##why dS");
  hand.check(hand.experiment() == expected, "a click makes dS exact, and nothing else");
  hand.experiment() = expected = s.experiment;
  hand.frames(2);
  hand.click(statistics + "**/##why forward pass");
  expected.a = without_rounding(expected.a);
  hand.check(hand.experiment() == expected, "a click on the forward pass makes its steps exact");
  for (const AnswerTensor t : {AnswerTensor::O, AnswerTensor::dO})
    hand.check(!attributed_gradient(t, s.experiment), "O and dO have no backward steps");
  s.experiment.backward.on = false;
  hand.check(!attributed_gradient(AnswerTensor::dQ, s.experiment), "without a backward pass there are none");
}

OrderSpread made_spread(const Experiment& e) {
  OrderSpread spread;
  spread.experiment = e;
  spread.elements = 96 * 16;
  spread.shuffled = {{"shuffled 1", {GradOrder::shuffled, 1, 1}}, {"shuffled 2", {GradOrder::shuffled, 2, 1}}};
  spread.schedules = {{"ascending", {GradOrder::ascending, 1, 1}},
                      {"descending", {GradOrder::descending, 1, 1}},
                      {"1 buffer", {GradOrder::buffers, 1, 1}},
                      {"4 buffers", {GradOrder::buffers, 1, 4}}};
  spread.shuffled[1].moved = spread.moved = 300;
  spread.shuffled[1].max_ulp = spread.max_ulp = 2;
  return spread;
}

CASE(gradients, orders_of_dQ) {
  const GradMethod usual;
  const GradMethod shuffled = with_order(usual, {GradOrder::shuffled, 12, 1}),
                   buffered = with_order(usual, {GradOrder::buffers, 1, 8});
  hand.check(shuffled.order == GradOrder::shuffled && shuffled.order_seed == 12, "a seed");
  hand.check(buffered.order == GradOrder::buffers && buffered.buffers == 8, "buffers");
  hand.check(with_order(usual, {GradOrder::descending, 1, 1}).order == GradOrder::descending &&
                 with_order(usual, {GradOrder::ascending, 1, 1}) == usual,
             "and schedules");
  Session s = backward_session();
  s.view.detail = Detail::same_bits;
  s.experiment.backward.a.order = GradOrder::ascending;
  hand.stage.resize(1600, 1500);  // all lines of the table are in view
  tell(hand, s, [&](PanelInput& input) {
    Experiment asked = s.experiment;
    asked.backward.a.order_seed = 1, asked.backward.a.buffers = 1;
    asked.b = Method{.algorithm = Algorithm::three_pass};
    asked.backward.b = GradMethod{};
    input.side.order_spread = std::make_shared<const OrderSpread>(made_spread(asked));
  });
  hand.click(statistics + "bits show/order of dQ");
  hand.frames(2);
  hand.check(hand.view().bits_show == BitsShow::orders, "the orders are chosen");
  hand.check(hand.exists(statistics + "**/##order 1"), "the orders are listed");
  for (const auto& [line, order] : {std::pair{1, GradOrder::shuffled}, {3, GradOrder::descending}, {2, GradOrder::ascending}}) {
    hand.click(statistics + "**/##order " + std::to_string(line));
    hand.check(hand.experiment().backward.a.order == order, "line " + std::to_string(line) + " becomes a's order");
  }
  hand.experiment().backward.on = false;
  hand.frames(2);
  hand.check(!hand.exists(statistics + "bits show/order of dQ"), "without a backward pass no orders");
}

CASE(gradients, traffic_of_both_passes) {
  Session s = backward_session();
  s.view.detail = Detail::traffic;
  hand.stage.resize(1600, 1000);
  tell(hand, s, [](PanelInput&) {});
  const std::vector<TrafficOf> back = backward_traffic_of_all(s.experiment);
  const BackwardTraffic t = backward_traffic(s.experiment);
  hand.check(back.size() == 3 && back[0].bytes == total_bytes(t.stored_P) && back[2].bytes == total_bytes(t.flash2),
             "bytes of the backward passes");
  for (const TrafficOf& of : back) {
    hand.check(has(of.counted, bytes_text(of.bytes)) && of.counted.starts_with(of.formula), of.counted);
    hand.check(of.flops == 2 * 4 * 96.0 * 96 * 16 && of.intensity == of.flops / of.bytes, "twice the forward's operations");
    hand.leaves(of.name, [&] { hand.click(statistics + of.name); });
  }
  const PanelInput& input = *hand.stage.told;
  const std::string csv = detail_csv({.detail = Detail::traffic}, input, {.result = input.answer.result});
  hand.check(std::ranges::count(csv, '\n') == 7 && has(csv, "\"backward, flash 2\"," + shortest(back[2].bytes)), csv);
  s.experiment.backward.on = false;
  hand.check(backward_traffic_of_all(s.experiment).empty(), "nothing without a backward pass");
}

}  // namespace
}  // namespace attoscope::testing::gradient_strip_cases
