// The stepper of the lessons: its controls, its clock, its texts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "app/explore/lessons.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/presets.h"
#include "tests/ui/cases.h"
#include "ui/frame/ui_state.h"
#include "ui/learn/learn_state.h"
#include "ui/learn/stepper/stepper.h"

namespace attoscope::testing::stepper_cases {
namespace {

const std::string stepper = "//Learn/**/";

/// Opens a lesson with a single live view.
void open_view(Hand& hand, const std::string& block, Session session = small_session()) {
  session.view.workspace = Workspace::learn;
  session.lesson.name = "test";
  hand.open(session);
  Lesson lesson = parse_lesson("test", "# Test\n\n## Step\n\n```" + block + "```\n");
  resolve(lesson);
  hand.tell().learn.lessons = std::make_shared<const Lessons>(Lessons{std::move(lesson)});
  hand.frames(3);
}
void open_stepper(Hand& hand, const std::string& parameters) { open_view(hand, "recurrence\n" + parameters); }

/// The change of exactly these keys of the view by the reader.
std::function<void(Session&)> changed(std::vector<LessonParameter> changes) {
  return [changes = std::move(changes)](Session& s) { s.lesson.views = {{"test", 0, changes}}; };
}

/// Expects these changes from `act` on a freshly opened stepper.
void expect(Hand& hand, const std::string& parameters, const std::string& what, const std::function<void()>& act,
            std::vector<LessonParameter> changes, Hand::Where where = Hand::Where::current()) {
  open_stepper(hand, parameters);
  hand.changes(what, act, changed(std::move(changes)), where);
}

constexpr const char* eight =
    "scores: 1 3 2 5 4 1 0 2\nalgorithms: flash2\nblock_k: 2\n";  // start, 4 tiles of 5 lines, the end

CASE(stepper, buttons_of_the_stepper) {
  open_stepper(hand, eight);
  const auto at = [](const char* step) { return changed({{"at", step}}); };
  hand.click(stepper + "###step", at("1"));
  hand.click(stepper + "###step", at("2"));
  hand.click(stepper + "###step back", at("1"));
  hand.click(stepper + "###last step", at("21"));
  hand.leaves("a step beyond the last", [&] { hand.click(stepper + "###step"); });
  hand.click(stepper + "###first step", at("0"));
  hand.leaves("back of the first", [&] { hand.click(stepper + "###step back"); });
  hand.type(stepper + "##steps", "13", at("13"));
}

CASE(stepper, play) {
  open_stepper(hand, eight);
  const auto at = [&] { return hand.session().lesson.views.empty() ? "" : hand.session().lesson.views[0].changes[0].value; };
  hand.click(stepper + "###play steps");
  hand.frames(45);  // three quarters of a second, three steps a second
  const std::string reached = at();
  hand.check(reached == "2" || reached == "3", "plays three steps a second, reached " + reached);
  hand.click(stepper + "###play steps");
  const std::string paused = at();
  hand.frames(60);
  hand.check(at() == paused, "pressed again, it stops");
  hand.click(stepper + "###last step");
  hand.click(stepper + "###play steps");
  hand.frames(5);
  hand.check(at() == "0", "from the last step it starts at the first");
}

CASE(stepper, choices) {
  expect(hand, eight, "format", [&] { hand.choose(stepper + "##format", "fp16"); }, {{"format", "fp16"}});
  expect(hand, eight, "policy", [&] { hand.choose(stepper + "##policy", "all_tile"); }, {{"policy", "all_tile"}});
  expect(hand, eight, "tile", [&] { hand.type(stepper + "##block_k", "3"); }, {{"block_k", "3"}});
  expect(hand, eight, "another algorithm", [&] { hand.click(stepper + "three_pass"); }, {{"algorithms", "three_pass, flash2"}});
  open_stepper(hand, eight);
  hand.check(hand.disabled(stepper + "flash2"), "the last algorithm stays");
  const std::string two = "scores: 1 3 2 5\nalgorithms: two_pass, flash2\nblock_k: 1\n";
  expect(hand, two, "one algorithm less", [&] { hand.click(stepper + "two_pass"); }, {{"algorithms", "flash2"}});
  expect(hand, two, "follow another", [&] { hand.click(stepper + "###lane two_pass"); }, {{"follow", "two_pass"}});
}

CASE(stepper, scores) {
  const auto source = [&](const char* what) { return [&hand, what] { hand.choose(stepper + "##source", what); }; };
  expect(hand, eight, "random", source("random"), {{"scores", "random:8:1"}});
  expect(hand, eight, "ascending", source("ascending"), {{"scores", "ascending:8"}});
  expect(hand, eight, "descending", source("descending"), {{"scores", "descending:8"}});
  expect(hand, eight, "the traced row", source("pinned"), {{"scores", "pinned"}});
  expect(hand, "scores: ascending:4\n", "typed", source("typed"), {{"scores", "0 2 4 6"}});
  expect(hand, eight, "a list", [&] { hand.fill(stepper + "##scores", "1 2.5 1/4 -3"); }, {{"scores", "1 2.5 1/4 -3"}});
  expect(hand, "scores: random:16:7\n", "how many", [&] { hand.type(stepper + "##N", "24"); }, {{"scores", "random:24:7"}});
  const auto others = [&] { hand.click(stepper + "others"); };
  expect(hand, "scores: random:16:7\n", "others", others, {{"scores", "random:16:8"}});
  const std::string none = "algorithms: flash2\n";
  expect(hand, none, "how many usual ones", [&] { hand.type(stepper + "##N", "24"); }, {{"scores", "random:24:1"}});
  expect(hand, none, "others than the usual ones", others, {{"scores", "random:16:2"}});
  expect(hand, "scores: random:16:999999999\n", "the first seed after the last", others, {{"scores", "random:16:0"}});
  open_stepper(hand, eight);
  hand.check(hand.disabled(stepper + "others") && hand.disabled(stepper + "##N"), "typed scores have no seed");
  const auto state = std::static_pointer_cast<RecurrenceViewState>(hand.stage.state->learn->views.at(0).own);
  hand.leaves("text that is no list of numbers", [&] { hand.fill(stepper + "##scores", "1 two 3"); });
  hand.check(state->typed_scores == "1 two 3" && state->refusal.find("scores is '1 two 3'") == 0,
             "a refused text stays next to its sentence: " + state->typed_scores + ", " + state->refusal);
  hand.check(!hand.explained(hand.id(stepper + "##scores")), "no tooltip covers the field");
  hand.changes("mended", [&] { hand.fill(stepper + "##scores", "1 2 3"); }, changed({{"scores", "1 2 3"}}));
  hand.check(state->refusal.empty(), "the sentence is gone");
}

/// Pastes numbers with commas, semicolons and tabs, and a column of a table.
CASE(stepper, scores_of_other_programs) {
  const auto paste = [&](const std::string& text) {
    return [&hand, text] {
      ImGui::SetClipboardText(text.c_str());
      hand.click(stepper + "##scores");
      hand.key(ImGuiMod_Ctrl | ImGuiKey_A);
      hand.key(ImGuiMod_Ctrl | ImGuiKey_V);
      hand.key(ImGuiKey_Enter);
    };
  };
  for (const char* text : {"2, 4.5,1/4", "2;4.5; 1/4", "2\t4.5\t1/4", "2\r\n4.5\r\n1/4\r\n"})
    expect(hand, eight, text, paste(text), {{"scores", "2 4.5 1/4"}});
}

/// The same keys step every stepper, whether a lesson is presented or read; J plays at the chosen speed.
CASE(stepper, keys_step_what_is_on_screen) {
  const std::string loop = "plot\nkind: loop\nn: 64\nblock_q: 16\nblock_k: 16\n";
  for (const std::string& block : {std::string("recurrence\n") + eight, loop}) {
    open_view(hand, block);
    const std::string last = block == loop ? "15" : "21";
    hand.key(ImGuiKey_Period, changed({{"at", "1"}}));
    hand.key(ImGuiMod_Shift | ImGuiKey_Period, changed({{"at", last}}));
    hand.leaves("no step beyond it", [&] { hand.key(ImGuiKey_Period); });
    hand.key(ImGuiKey_Comma, changed({{"at", std::to_string(std::stoi(last) - 1)}}));
    hand.key(ImGuiMod_Shift | ImGuiKey_Comma, changed({{"at", "0"}}));
    hand.leaves("faster", [&] { hand.key(ImGuiMod_Shift | ImGuiKey_J); });
    hand.key(ImGuiKey_J);
    hand.frames(61);
    hand.key(ImGuiKey_J);
    const int reached = hand.session().lesson.views.empty() ? 0 : std::stoi(hand.session().lesson.views[0].changes[0].value);
    hand.check(reached == 5 || reached == 6, "five steps a second, reached " + std::to_string(reached));
    const Session paused = hand.session();
    hand.frames(40);
    hand.check(hand.session() == paused, "J again, it stops");
    hand.key(ImGuiKey_F5, [](Session& s) { s.lesson.presenting = true; });
    hand.frames(4);
    while (hand.stage.state->learn->stepping.view < 0) hand.key(ImGuiKey_PageDown);
    int at = hand.stage.state->learn->stepping.at;
    for (const int key : {ImGuiKey_PageDown, ImGuiKey_RightArrow, ImGuiKey_Period}) {
      hand.key(key);
      hand.check(hand.stage.state->learn->stepping.at == ++at, "presenting, one step on by key " + std::to_string(key));
    }
    for (const int key : {ImGuiKey_PageUp, ImGuiKey_LeftArrow, ImGuiKey_Comma}) {
      hand.key(key);
      hand.check(hand.stage.state->learn->stepping.at == --at, "presenting, one step back by key " + std::to_string(key));
    }
  }
}

CASE(stepper, bars_of_the_scores) {
  open_stepper(hand, eight);
  const auto bar = [&](float y) { return hand.place(stepper + "###score 3", 0.5f, y); };
  hand.changes(
      "a click types one score",
      [&] {
        hand.press(bar(0.5f));
        hand.enter("4.5");
      },
      changed({{"scores", "1 3 4.5 5 4 1 0 2"}}));
  hand.leaves("text that is no number", [&] {
    hand.press(bar(0.5f));
    hand.enter("x");
  });
  const auto state = std::static_pointer_cast<RecurrenceViewState>(hand.stage.state->learn->views.at(0).own);
  hand.check(state->typed_score == "x" && state->score_refusal.find("score is 'x'") == 0, "the text stays next to its error");
  hand.changes("mended", [&] { hand.enter("4"); }, changed({{"scores", "1 3 4 5 4 1 0 2"}}));
  open_stepper(hand, eight);
  hand.drag(bar(0.6f), bar(0.3f));
  std::string problem;
  const auto& views = hand.session().lesson.views;
  const std::vector<double> now =
      views.empty() ? std::vector<double>{} : scores_of(views[0].changes[0].value, nullptr, problem);
  hand.check(now.size() == 8 && now[2] > 2.5 && now[2] < 6 && std::fmod(now[2], 0.25) == 0, "a drag raises it by quarters");
  hand.check(now.size() == 8 && now[1] == 3 && now[3] == 5, "other scores do not change");
}

CASE(stepper, scores_of_the_traced_row) {
  open_stepper(hand, "scores: pinned\nalgorithms: flash2\n");
  const auto state = std::static_pointer_cast<RecurrenceViewState>(hand.stage.state->learn->views.at(0).own);
  const Result& result = *hand.result();
  hand.check(state->rows.size() == 1 && state->rows[0].question.scores == scores_of_row(result, result.trace.row, 64),
             "the traced row's scores");
  hand.check(state->rows[0].question.scores.size() == 64 && state->rows[0].same_bits, "64 of them, and the kernel's bits");
}

CASE(stepper, broken_blocks_are_reported) {
  const auto says = [&](const std::string& block, const std::string& words) {
    open_view(hand, block);
    const auto& problems = hand.stage.state->learn->problems;
    hand.check(problems.size() == 1 && has(problems[0], words),
               block + " says " + (problems.empty() ? "nothing" : problems[0]) + ", expected " + words);
  };
  says("recurrence\nscores: 1 two\n", "scores is '1 two', expected 1 to 64 numbers");
  says("recurrence\nscores: random:65:1\n", "scores is 'random:65:1'");
  says("recurrence\nscores: random:x:1\n", "scores is 'random:x:1'");
  says("recurrence\nscores: nan\n", "scores is 'nan'");
  says("recurrence\nscores: 1e9\n", "scores is '1e9'");
  says("recurrence\nalgorithms: flash3\n", "algorithms is 'flash3', expected");
  says("recurrence\nalgorithms: ,\n", "algorithms is ',', expected one to five of");
  says("recurrence\nheight: 5\n", "height is '5', expected a whole number from 80 to 400");
  says("recurrence\nat: -1\n", "at is '-1'");
  says("recurrence\ncolumns: m, n\n", "columns is 'n', expected");
  says("code\nalgorithm: split_kv\n", "algorithm is 'split_kv', expected three_pass, two_pass, flash1, flash2 or flash4");
}

std::vector<Steps> rows_of(const std::vector<double>& scores, std::initializer_list<Algorithm> algorithms, int block_k) {
  std::vector<Steps> rows;
  for (const Algorithm a : algorithms) {
    StepQuestion q{.scores = scores,
                   .values = scores,
                   .d = 1,
                   .algorithm = a,
                   .block_k = block_k,
                   .format = bf16,
                   .precision = policy("exact").precision};
    rows.push_back(steps(q));
  }
  return rows;
}

/// Every algorithm reaches all its lines in order, takes every step, and reads no score before its turn.
CASE(stepper, every_line_and_step_in_order) {
  const auto rows =
      rows_of({1, 3, 2, 5, 4}, {Algorithm::three_pass, Algorithm::two_pass, Algorithm::flash1, Algorithm::flash2}, 2);
  const StepClock ticks = step_clock(rows);
  for (std::size_t a = 0; a < rows.size(); ++a) {
    int last = -1, reads = 0;
    for (const auto& tick : ticks) {
      hand.check(tick[a] == last || tick[a] == last + 1, "no step is left out");
      last = tick[a];
    }
    hand.check(last + 1 == static_cast<int>(rows[a].steps.size()), "the clock ends with the last step");
    for (const auto& tick : ticks) {
      reads = 0;
      for (std::size_t k = 0; k < rows.size(); ++k)
        reads = std::max(reads, rows[k].steps[static_cast<std::size_t>(tick[k])].reads);
      const auto next = static_cast<std::size_t>(tick[a]) + 1;
      hand.check(next >= rows[a].steps.size() || rows[a].steps[next].reads >= reads,
                 "an algorithm that needs no further scores is not behind");
    }
    for (const RowStep& step : rows[a].steps)
      hand.check(std::ranges::count(pseudo_code(rows[a].question.algorithm), step.kind,
                                    [](const CodeLine& l) { return l.kind.value_or(StepKind{255}); }) == 1,
                 "every step is one line of the code");
  }
}

CASE(stepper, formulas) {
  const auto rows = rows_of({4, 6, 1}, {Algorithm::flash2}, 1);
  const auto lines = [&](StepKind kind, int tile) {
    const auto& all = rows[0].steps;
    const auto found = std::ranges::find_if(all, [&](const RowStep& s) { return s.kind == kind && s.tile == tile; });
    std::string text;
    for (const std::string& line : step_formula(rows[0], static_cast<int>(found - all.begin()))) text += line + "|";
    return text;
  };
  hand.expect_text(lines(StepKind::max, 1), "m = max(m', S_t)|= max(4, 6)|= 6|");
  hand.expect_text(lines(StepKind::alpha, 0), "α: nothing to rescale yet|the first tile|l = 0 and O = 0|");
  hand.expect_text(lines(StepKind::alpha, 1), "α = exp(m' - m)|= exp(4 - 6)|= 0.135335|");
  hand.expect_text(lines(StepKind::weights, 2), "P_j = exp(S_j - m)|= exp(1 - 6)|= 0.00673795|");
  hand.expect_text(lines(StepKind::sum, 1), "l = α·l + Σ P|= 0.135335·1 + 1|= 1.13534|");
  hand.expect_text(lines(StepKind::output, 1), "O = α·O + P·V|= 0.135335·(4) + (6)|= (6.54134)|");
  hand.expect_text(step_place(rows[0], 0) + "|" + step_place(rows[0], 7), "before any score|score 2");
  hand.expect_text(step_formula(rows_of({999999.5}, {Algorithm::flash2}, 1)[0], 1).back(), "= 1.0000e6");
}

constexpr const char* scaled =
    "scores: 3 1.5 4 0.7 5 2.2 3.4 1\nalgorithms: flash2\nblock_k: 4\nscaling.Q: int8/token\nscaling.K: int8/rows:4\n"
    "scaling.V: e4m3/channel\nscaling.P: e4m3/x448\n";

/// The formula and the stored numbers of a row at one of its steps, "k 1: 3 > 95 * 0.0315 = 2.992".
std::string told_at(const std::vector<Steps>& rows, int at) {
  const std::vector<int> places{at};
  const StepperData stepped{rows, places, 0};
  std::string text;
  for (const std::string& line : step_formula(rows[0], at)) text += line + "|";
  const auto number = [](const std::vector<double>& x) { return x.empty() ? "" : fmt::format("{:.4g}", x[0]); };
  for (const StoredLine& line : stored_lines(stepped))
    text += fmt::format("{}: {} > {} * {} = {}|", line.name, number(line.given), number(line.elements), number(line.scales),
                        number(line.stands_for));
  return text;
}

/// A tile with scales, walked by hand: 3 over 4/127 is 95.25, stored as 95.
CASE(stepper, a_tile_with_scales_walked_by_hand) {
  open_stepper(hand, scaled);
  const auto state = std::static_pointer_cast<RecurrenceViewState>(hand.stage.state->learn->views.at(0).own);
  hand.check(state->rows.size() == 1 && state->rows[0].same_bits, "the kernel's own bits");
  const auto expect_told = [&](const std::string& expected) {
    const std::size_t at =
        hand.session().lesson.views.empty() ? 0 : std::stoul(hand.session().lesson.views[0].changes[0].value);
    hand.expect_text(told_at(state->rows, static_cast<int>(at)), expected);
  };
  expect_told("m = -∞,  l = 0,  O = 0|before any score|q: 1 > 127 * 0.007874 = 1|");
  const auto step = [&] { hand.click(stepper + "###step"); };
  step();
  expect_told(
      "S_j = s_q·s_k·(q·k_j)|= 0.000248·{12065, 6096, 16129, 2794}|= 2.99213,  1.51181,  4,  0.692913|"
      "q: 1 > 127 * 0.007874 = 1|k 1: 3 > 95 * 0.0315 = 2.992|k 2: 1.5 > 48 * 0.0315 = 1.512|k 3: 4 > 127 * 0.0315 = 4|"
      "k 4: 0.7 > 22 * 0.0315 = 0.6929|");
  step();
  expect_told("m = max(m', S_t)|= max(-∞, 2.99213, 1.51181, 4, 0.692913)|= 4|");
  step(), step();
  expect_told("e_j = exp(S_j - m)|= exp({2.99213, 1.51181, 4, 0.692913} - 4)|= 0.364994,  0.0830603,  1,  0.0366227|");
  step();
  expect_told("l = α·l + Σ e|= 1·0 + 1.48468|= 1.48468|");
  step();
  expect_told(
      "P_j = e4m3(448·e_j)|= e4m3(163.517,  37.211,  448,  16.407)|= 160,  36,  448,  16|"
      "P 1: 0.365 > 160 * 0.002232 = 0.3571|P 2: 0.08306 > 36 * 0.002232 = 0.08036|P 3: 1 > 448 * 0.002232 = 1|"
      "P 4: 0.03662 > 16 * 0.002232 = 0.03571|");
  hand.check(hand.explained(hand.id(stepper + "###stored")), "the stored numbers have a tooltip");
  step();
  expect_told(
      "O = α·O + P·V|= 1·(0, 0) + (295680, 88256)|= (295680, 88256)|v 1: 1 > 448 * 0.002232 = 1|v 2: 1 > 448 * 0.002232 = 1|"
      "v 3: 1 > 448 * 0.002232 = 1|v 4: 1 > 448 * 0.002232 = 1|");
  hand.click(stepper + "###last step");
  const std::string last = told_at(state->rows, 15);
  hand.check(last.starts_with("O / l · (s_v / 448)|") && has(last, "O 1: "), last);
  for (const char* refused : {"three_pass", "two_pass"})
    hand.check(hand.disabled(stepper + refused), std::string(refused) + " does not scale P");
  hand.check(!hand.disabled(stepper + "flash1") && !hand.exists(stepper + "flash4"), "flash1 does");
}

/// In code of a method with scales every line is one step, and every step one line.
CASE(stepper, code_of_methods_with_scales) {
  for (const Algorithm algorithm : {Algorithm::flash1, Algorithm::flash2, Algorithm::flash4})
    for (const ExponentialKind exponential : {ExponentialKind::natural, ExponentialKind::exp2})
      for (const char* P : {"off", "e4m3/x448", "e4m3/x256/shift", "e2m1/block:2/e4m3/x2688/shift"})
        for (const char* Q : {"off", "int8/head", "int8/token", "e2m1/block:16/nvfp4"}) {
          StepQuestion q{.scores = {1, 3, 2, 5, 4}, .values = {1, 2, 3, 4, 5}, .algorithm = algorithm, .block_k = 2};
          q.precision = policy("hw").precision;
          q.exponential = exponential;
          q.scaling.Q = q.scaling.K = parse_scaling(Q);
          q.scaling.P = parse_scaling(P);
          const std::vector<Steps> rows{steps(q)};
          const std::vector<CodeLine> code = pseudo_code(rows[0]);
          for (int i = 0; i < static_cast<int>(rows[0].steps.size()); ++i) {
            const StepKind kind = rows[0].steps[static_cast<std::size_t>(i)].kind;
            hand.check(std::ranges::count_if(code, [&](const CodeLine& l) { return l.kind == kind; }) == 1, "one line a step");
            hand.check(step_formula(rows[0], i).size() == (kind == StepKind::start ? 2 : 3), "three lines of numbers");
          }
          for (const CodeLine& line : code) {
            const bool old = exponential == ExponentialKind::exp2 && line.text.find("exp(") != std::string::npos;
            hand.check(!old, line.text + " in powers of 2");
          }
        }
}

/// The traced row of a method with scales: its own q and keys, its own scales.
CASE(stepper, traced_row_of_a_method_with_scales) {
  Session session = small_session();
  session.experiment.a = kernel_preset("sage2").method;
  open_view(hand, "recurrence\nscores: pinned\nalgorithms: two_pass, flash2\n", session);  // two_pass cannot scale P
  hand.settle();
  hand.frames(3);
  const auto state = std::static_pointer_cast<RecurrenceViewState>(hand.stage.state->learn->views.at(0).own);
  const Result& result = *hand.result();
  if (!hand.check(state->rows.size() == 1 && state->rows[0].same_bits, "stepped with the kernel's bits: " + state->problem))
    return;
  const StepQuestion& q = state->rows[0].question;
  hand.check(q.scaling == result.experiment.a.scaling && q.exponential == ExponentialKind::exp2, "the method's scales");
  hand.check(q.rows.d == result.experiment.problem.d, "the row's own q and keys");
  const std::vector<double> scores = scores_of_row(result, result.trace.row, 64);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    double sum = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(q.rows.d); ++c)
      sum +=
          q.rows.q[static_cast<std::size_t>(q.rows.row * q.rows.d) + c] * q.rows.k[j * static_cast<std::size_t>(q.rows.d) + c];
    hand.check(std::fabs(q.rows.scale * sum - scores[j]) < 1e-9, "their products are the scores");
  }
}

}  // namespace

}  // namespace attoscope::testing::stepper_cases
