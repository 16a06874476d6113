// The verdict's picture: all heads of a loaded output are judged, from opening the files to the first wrong element.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "app/judge/judged_call.h"
#include "app/judge/judgement.h"
#include "app/tensors/npy.h"
#include "imgui_internal.h"
#include "kernels/arithmetic/format.h"
#include "kernels/compute.h"
#include "tests/ui/explore/output_files.h"
#include "ui/controls/controls.h"
#include "ui/frame/loaded_output.h"
#include "ui/frame/ui_state.h"
#include "ui/recurrence/recurrence.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/progress.h"

namespace attoscope::testing::verdict_cases {
namespace {

constexpr int layers = 30, heads = 9, tokens = 24, width = 8;
constexpr int scaled = 17 * heads + 4, emptied = 23 * heads + 2;  ///< the heads with a fault

/// Writes a file for each layer, and returns the folder. One head has another scale, in another head a tile of rows
/// is missing.
std::string write_dump(Hand& hand) {
  Experiment e = small_session().experiment;
  e.problem.n = tokens, e.problem.d = width;
  e.a.block_q = e.a.block_k = 8;
  for (int layer = 0; layer < layers; ++layer) {
    std::array<Stored, 4> parts{Stored{"q", {heads, tokens, width}, {}}, Stored{"k", {heads, tokens, width}, {}},
                                Stored{"v", {heads, tokens, width}, {}}, Stored{"o", {heads, tokens, width}, {}}};
    for (int h = 0; h < heads; ++h) {
      const int head = layer * heads + h;
      e.problem.seed = static_cast<std::uint64_t>(head) + 1;
      e.problem.scale = head == scaled ? 1 : Problem{}.scale;
      Result r = compute(e);
      if (head == emptied) std::fill(r.a.values.begin() + 8 * width, r.a.values.begin() + 16 * width, 0);
      const std::vector<double>* const of[] = {&r.inputs->q, &r.inputs->k, &r.inputs->v, &r.a.values};
      for (std::size_t i = 0; i < parts.size(); ++i)
        parts[i].values.insert(parts[i].values.end(), of[i]->begin(), of[i]->end());
    }
    hand.folder.write("layers." + std::to_string(layer) + ".safetensors", bf16_file({parts.begin(), parts.end()}));
  }
  const std::string path = hand.folder / "";
  return path.substr(0, path.size() - 1);
}

// --- words of the window ----------------------------------------------------------------------------------------------

HeadVerdicts verdicts(Hand& hand) { return shown_verdicts(hand.experiment(), hand.stage.panel_input()); }

/// Waits until all heads and the head on screen are judged.
void await_verdicts(Hand& hand, const std::string& name) {
  hand.settle();
  hand.await(name + ": all heads are judged", [&] { return verdicts(hand).complete(); });
  hand.settle();
  hand.await("the head on screen is judged", [&] { return shown_verdict(hand.stage.panel_input()) != nullptr; });
}

/// Expects the window and `attoscope judge` to give the same verdict on each head, and the same text about the shown head.
void expect_judge(Hand& hand, const JudgedCall& call, const std::string& name) {
  const CallJudgement all = judge_call(call, {.problem = hand.experiment().problem}, {});
  const PanelInput input = hand.stage.panel_input();
  if (!hand.check(input.side.judged && input.side.judged->rows->size() == all.table.size(), name + ": all heads")) return;
  for (const JudgedHead& head : *input.side.judged->rows) {
    const HeadJudgement& found = all.table[static_cast<std::size_t>(head.head)].found;
    const std::string at = name + ", head " + std::to_string(head.head);
    hand.check(head.rounded == found.rounded && head.incomparable == !found.incomparable.empty(), at + ": verdict");
    hand.check(head.ratio == found.ratio && head.first_row == found.first_row, at + ": ratio and first row");
  }
  const auto wrong = std::ranges::count_if(all.table, [](const JudgedRow& r) { return r.found.verdict() == "wrong"; });
  hand.check(verdicts(hand).wrong == static_cast<int>(wrong), name + ": as many are wrong");
  const CallJudgement one =
      judge_call(call, {.problem = hand.experiment().problem, .head = hand.experiment().problem.input.index}, {});
  const CallJudgement* const shown = shown_verdict(input);
  if (!hand.check(shown != nullptr, name + ": a verdict")) return;
  hand.check(shown->sentences == one.sentences,
             name + ": \"" + shown->sentences[0] + "\", expected \"" + one.sentences[0] + "\"");
  const std::optional<Slip>&slip = shown->worst_row().slip, &expected = one.worst_row().slip;
  hand.check(slip.has_value() == expected.has_value() && (!slip || slip->text == expected->text), name + ": the same name");
}

std::string cell(int head) { return heatmap + "**/##head " + std::to_string(head); }

// --- from a folder to the first wrong element -------------------------------------------------------------------------

/// A dump of 30 x 9 heads, two of them wrong: from opening it to the first wrong element of each by clicks alone.
CASE(verdict, a_dump_of_270_heads) {
  hand.stage.resize(1600, 1000);
  hand.drop({write_dump(hand)});
  await_verdicts(hand, "the dump");
  expect_judge(hand, JudgedFiles(std::make_shared<const CallFiles>(hand.experiment().problem.input.file)), "the dump");
  hand.expect_text(heads_words(verdicts(hand)), "2 of 270 heads wrong");
  const int worst = hand.experiment().problem.input.index, other = worst == scaled ? emptied : scaled;
  hand.check(worst == verdicts(hand).worst->head && (worst == scaled || worst == emptied), "the worst head is open");
  hand.click(statistics + "###verdicts");
  hand.frames(3);
  hand.check(hand.view().picture == PictureKind::heads && hand.view().heads_show == HeadsShow::verdict, "the grid is shown");
  hand.check(hand.exists(cell(0)) && hand.exists(cell(layers * heads - 1)), "the grid has all heads");
  hand.stage.resize(1024, 768);
  hand.show(&View::ui_scale, 2.25, 4);
  const float right = hand.rect(hand.id(heatmap + "heads show/verdict")).Max.x;
  hand.check(right <= 1024, "no choice is cut off at 225 %: it ends at " + std::to_string(right));
  hand.stage.resize(1600, 1000);
  hand.show(&View::ui_scale, 1, 4);
  hand.click(cell(other));
  await_verdicts(hand, "the dump");
  hand.check(hand.experiment().problem.input.index == other && hand.experiment().loaded.index == other, "the other wrong head");
  hand.check(hand.view().picture == PictureKind::output, "its output is shown");
  for (const bool first : {true, false}) {
    hand.click(statistics + (first ? "###first wrong" : "###furthest"), settled);
    const HeadVerdict& verdict = *hand.stage.panel_input().side.verdict;
    const HeadJudgement& found = verdict.call.worst_row().found;
    hand.check(hand.view().cell_row == (first ? found.first_row : verdict.furthest_row), "its row is pinned");
    hand.check(hand.view().cell_col == (first ? found.worst_col : verdict.furthest_column), "its column is pinned");
    hand.check(hand.experiment().problem.traced_row == hand.view().cell_row, "its row is traced");
    hand.check(hand.view().zoom.row0 <= hand.view().cell_row && hand.view().cell_row < hand.view().zoom.row1, "it is seen");
  }
  if (other == emptied)
    hand.check(hand.stage.panel_input().side.verdict->call.worst_row().found.first_row == 8, "its first row is 8");
}

/// The verdict is green only after all heads are judged; the search is stopped and continued; another chosen head stays.
CASE(verdict, judging_stopped) {
  hand.stage.state->heads.unjudged = write_dump(hand);
  hand.drop({hand.stage.state->heads.unjudged});
  hand.await("the head on screen is judged", [&] { return shown_verdict(hand.stage.panel_input()) != nullptr; });
  hand.expect_text(heads_words(verdicts(hand)), "0 of 270 heads judged");
  hand.check(heads_tone(verdicts(hand)) == colours().text, "no colour says rounded or wrong yet");
  hand.check(shown_verdict(hand.stage.panel_input())->rounded() &&
                 kernel_tone(*shown_verdict(hand.stage.panel_input()), hand.stage.panel_input()) == colours().text,
             "a rounded head is not green while others may be wrong");
  hand.click(statistics + "###verdicts");
  hand.frames(3);
  hand.click(cell(28), settled);
  hand.click(statistics + "###judging");
  await_verdicts(hand, "the dump");
  hand.check(hand.experiment().problem.input.index == 28, "the chosen head stays");
  hand.check(heads_tone(verdicts(hand)) == colours().bad, "two are wrong");
  const PanelInput input = hand.stage.panel_input();
  hand.check(shown_verdict(input)->rounded(), "this one is rounded");
  Requests requests;
  const Headline line = headline_of({hand.session(), input, *hand.stage.state, requests});
  hand.check(line.words == "2 of 270 heads wrong" && has(line.more, "head 1 is rounded"),
             "the headline names it: " + line.more);
  PanelInput& some = hand.tell();
  JudgedView first = *some.side.judged;
  first.rows = std::make_shared<const std::vector<JudgedHead>>(first.rows->begin(), first.rows->begin() + 40);
  some.side.judged = std::make_shared<const JudgedView>(first);
  hand.frames(3);
  hand.click(statistics + "###judging");
  hand.frames(2);
  hand.check(judging_stopped(hand.stage.state->heads, hand.experiment()), "stopped by its button");
}

/// Loaded outputs have a field of errors over tolerances.
CASE(verdict, field_of_tolerances) {
  const std::string combo = heatmap + "##field";
  Result r = compute(small_session().experiment);
  r.a.values[37 * 16 + 5] += 3;
  hand.drop({hand.folder.write("one.npy", npy_bytes(96, 16, r.a.values.data()))});
  hand.await("it is judged", [&] { return shown_verdict(hand.stage.panel_input()) != nullptr; });
  hand.choose(combo, "tolerance/     error \\/ tolerance");
  hand.frames(3);
  const HeatState& heat = hand.stage.state->heat;
  const CallJudgement& call = *shown_verdict(hand.stage.panel_input());
  hand.check(heat.field == Field::tolerance && heat.values.size() == 96 * 16, "the field is shown");
  for (int row = 0; row < 96; ++row)
    for (int column = 0; column < 16; ++column)
      hand.check(heat.values[static_cast<std::size_t>(row * 16 + column)] == static_cast<float>(call.share(row, column)) &&
                     field_value(*heat.result, Field::tolerance, row, column) == call.share(row, column),
                 "each value is error over tolerance");
  hand.check(std::ranges::max_element(heat.values) - heat.values.begin() == 37 * 16 + 5, "the furthest is the planted one");
  const HeadVerdict& verdict = *hand.stage.panel_input().side.verdict;
  hand.check(verdict.furthest_row == 37 && verdict.furthest_column == 5, "the verdict names that element");
  hand.experiment().problem.traced_row = 3;
  hand.settle();
  hand.frames(2);
  hand.check(shown_verdict(hand.stage.panel_input()) != nullptr && has_field(*hand.result(), Field::tolerance),
             "another row, the same verdict");
  hand.click(controls + "kernel as/off", settled);
  hand.frames(3);
  hand.check(!has_field(*hand.result(), Field::tolerance), "a computed method has no tolerances");
}

/// Suspects are listed with the error that each leaves; a click swipes against one, a second click ends the swipe.
CASE(verdict, suspects) {
  Experiment e = small_session().experiment;
  e.problem.scale = 1;
  hand.stage.resize(1600, 1000);
  hand.drop({hand.folder.write("wrong.npy", npy_bytes(96, 16, compute(e).a.values.data()))});
  hand.await("it is judged", [&] { return shown_verdict(hand.stage.panel_input()) != nullptr; });
  hand.await("b's recurrence is shown", [&] {
    const PanelInput input = hand.stage.panel_input();
    return recurrence_answer(input) != input.answer.result && why_no_recurrence(input).empty();
  });
  hand.click(statistics + "detail/why");
  hand.frames(3);
  const CallJudgement& call = *shown_verdict(hand.stage.panel_input());
  const std::vector<SlipShare> all = suspects_of(call);
  if (!hand.check(all.size() > 2 && all.front().named && all.front().slip->kind == Slip::Kind::scale, "the named one first"))
    return;
  for (std::size_t i = 1; i < all.size(); ++i) hand.check(!all[i].named && !(all[i].left < all[i - 1].left && i > 1), "ranked");
  hand.check(all.front().left < 0.1 && all.back().left > all.front().left, "the named slip leaves least");
  const auto line = [](std::size_t i) { return statistics + "**/suspect " + std::to_string(i); };
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    hand.click(line(i));
    hand.frames(2);
    hand.check(hand.view().comparison == Comparison::swipe && hand.view().slip == all[i].slip->text, "swiped against it");
    hand.await("the suspect's output is shown", [&] {
      const PanelInput input = hand.stage.panel_input();
      return input.side.slip_output && input.side.slip_output->text == all[i].slip->text;
    });
  }
  hand.click(line(1));
  hand.frames(2);
  hand.check(hand.view().comparison == Comparison::none && !hand.view().second_slip, "the swipe ends");
}

}  // namespace

}  // namespace attoscope::testing::verdict_cases
