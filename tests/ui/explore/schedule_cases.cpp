// The schedules at the lower right: their numbers are the question's own answer, and a click on one makes it b.
#include <algorithm>
#include <array>
#include <string>

#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/questions/invariance.h"
#include "tests/ui/cases.h"
#include "ui/frame/panel_input.h"
#include "ui/statistics/csv.h"

namespace attoscope::testing {
namespace {

const std::string statistics = "//Statistics/", chooser = statistics + "detail/";

std::string row_of(std::size_t i) { return statistics + "**/##schedule " + std::to_string(i); }

/// One query over 200 keys, the schedules on show.
Session decode(Hand& hand) {
  hand.stage.resize(1600, 1000);
  Session s = small_session();
  s.experiment.problem.n = 1;
  s.experiment.problem.n_k = 200;
  s.experiment.a.precision = policy("eager").precision;
  s.view.detail = Detail::same_bits;
  s.view.bits_show = BitsShow::schedules;
  return s;
}

bool is_known(Hand& hand) {
  const auto& known = hand.stage.panel_input().side.invariance;
  return known && known->experiment == invariance_question(hand.experiment());
}
bool await_answer(Hand& hand) {
  for (int i = 0; i < 5000 && !is_known(hand); ++i) hand.frames(1);
  hand.frames(3);
  return hand.check(is_known(hand), "the schedules are compared");
}

void chooses(Hand& hand) {
  hand.click(chooser + "bits");
  hand.changes(
      "schedules", [&] { hand.click(statistics + "bits show/schedules"); },
      [](Session& s) { s.view.bits_show = BitsShow::schedules; });
  hand.changes(
      "runs", [&] { hand.click(statistics + "bits show/runs"); }, [](Session& s) { s.view.bits_show = BitsShow::runs; });
}

/// The numbers are those of the question, and its table those of the command.
void as_asked_alone(Hand& hand) {
  hand.open(decode(hand));
  if (!await_answer(hand)) return;
  const PanelInput input = hand.stage.panel_input();
  const std::string csv = detail_csv(hand.view(), input);
  hand.check(csv == csv_text(invariance_table(invariance(hand.experiment()))), "the table of the command");
  hand.check(std::ranges::count(csv, '\n') > 5, "with several schedules");
  for (const std::size_t i : {0u, 1u}) hand.check(hand.explained_at(hand.place(row_of(i), 0.2f)), "a line is explained");
}

void click_makes_it_b(Hand& hand) {
  hand.open(decode(hand));
  if (!await_answer(hand)) return;
  const auto answer = hand.stage.panel_input().side.invariance;
  const std::size_t other = 1;
  const Method before = hand.experiment().b;
  hand.changes(
      "a click makes it b", [&] { hand.press(hand.place(row_of(other), 0.2f)); },
      [&](Session& s) { s.experiment.b = with_schedule(s.experiment.a, answer->runs[other].schedule); });
  hand.settle();
  hand.check(hand.stage.panel_input().answer.result->digests.b == answer->runs[other].digest, "b has the bits of the schedule");
  hand.check(hand.stage.panel_input().side.invariance == answer && is_known(hand), "what was found does not depend on b");
  hand.key(ImGuiMod_Ctrl | ImGuiKey_Z);
  hand.settle();
  hand.check(hand.experiment().b == before, "Ctrl+Z comes back");
}

/// Another a is another question; the former answer is not shown for it.
void another_question(Hand& hand) {
  hand.open(decode(hand));
  if (!await_answer(hand)) return;
  hand.experiment().a.precision = policy("hw").precision;
  hand.settle();
  if (!await_answer(hand)) return;
  hand.check(hand.stage.panel_input().side.invariance->runs[0].digest == hand.stage.panel_input().answer.result->digests.a,
             "the first schedule is a itself");
}

void without_schedules(Hand& hand) {
  Session s = decode(hand);
  s.experiment.a.algorithm = Algorithm::three_pass;
  hand.open(s);
  if (!await_answer(hand)) return;
  hand.check(hand.stage.panel_input().side.invariance->runs.size() == 5, "the order of keys, then three tensor cores' sums");
  for (const auto& [width, height] : {std::pair{1280, 800}, std::pair{720, 480}}) {
    hand.stage.resize(width, height);
    hand.frames(4);
  }
}

constexpr std::array cases{
    Case{"schedules", "chooser", chooses},
    Case{"schedules", "as asked alone", as_asked_alone},
    Case{"schedules", "click", click_makes_it_b},
    Case{"schedules", "another question", another_question},
    Case{"schedules", "three passes", without_schedules},
};

}  // namespace

std::span<const Case> schedule_cases() { return cases; }

}  // namespace attoscope::testing
