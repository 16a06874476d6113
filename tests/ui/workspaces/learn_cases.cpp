// The Learn workspace: the list, turning pages, presenting, quizzes, broken texts, every shipped lesson.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "app/explore/lessons.h"
#include "app/files/files.h"
#include "imgui_internal.h"
#include "tests/support/figure_support.h"
#include "tests/ui/cases.h"
#include "ui/frame/exercise.h"
#include "ui/frame/ui_state.h"
#include "ui/learn/learn_state.h"
#include "ui/learn/lesson_steps.h"
#include "ui/widgets/widgets.h"

namespace attoscope::testing {
namespace {

const std::string learn = "//Learn/", anywhere = "//Learn/**/";

/// Marks the page of `session` as seen.
void seen(Hand& hand, Session& session) {
  const PanelInput input = hand.stage.panel_input();
  see_step(session.lesson, place_of(session.lesson, input.learn.lessons.get()));
}

/// The change that moves the session to this step.
std::function<void(Session&)> at(Hand& hand, const Lessons& lessons, int lesson, int step) {
  return [&hand, &lessons, lesson, step](Session& s) {
    open_lesson(s.lesson, lessons[static_cast<std::size_t>(lesson)], step);
    seen(hand, s);
  };
}

void open_learn(Hand& hand, bool presenting = false) {
  Session session = small_session(Workspace::learn);
  session.lesson.presenting = presenting;
  hand.open(session, 3);
}

/// Opens lessons with only this text, and waits for the answers to its questions.
void open_text(Hand& hand, const std::string& text) {
  open_learn(hand);
  PanelInput& input = hand.tell();
  Lesson lesson = parse_lesson("test", text);
  resolve(lesson);
  LessonAnswers answers;
  for (const LessonStep& step : lesson.steps)
    for (const LessonBlock& block : step.blocks) {
      for (const LessonNumber& number : block.numbers)
        if (number.problem.empty()) answers.push_back(std::make_shared<const LessonAnswer>(answer(number.question, {})));
      for (const LessonView& view : block.view) {
        if (!is_question(view.kind) || !view.problem.empty()) continue;
        if (view.kind == LessonViewKind::exercise) {
          const Exercise x = exercise_of(view);
          if (x.kind == ExerciseKind::order)
            answers.push_back(std::make_shared<const LessonAnswer>(answer(order_question(x), {})));
          continue;
        }
        LessonQuestion q{.experiment = view.experiment, .measure = std::string(written(view, "measure"))};
        if (const auto vary = written(view, "vary"); !vary.empty()) q.vary = {std::string(vary)};
        answers.push_back(std::make_shared<const LessonAnswer>(answer(q, {})));
      }
    }
  input.learn.lessons = std::make_shared<const Lessons>(Lessons{std::move(lesson)});
  input.learn.answers = std::make_shared<const LessonAnswers>(std::move(answers));
  hand.session().lesson = {};
  hand.session().lesson.name = "test";
  hand.frames(3);
}

const std::vector<std::string>& problems(Hand& hand) { return hand.stage.state->learn->problems; }
bool says(Hand& hand, const std::string& part) {
  return std::ranges::any_of(problems(hand), [&](const std::string& p) { return has(p, part); });
}

/// The change that replaces the reader's answers to a view.
std::function<void(Session&)> answered(int view, std::vector<LessonParameter> changes) {
  return [view, changes = std::move(changes)](Session& s) {
    std::erase_if(s.lesson.views, [&](const LessonViewEdits& v) { return v.view == view; });
    s.lesson.views.push_back({"test", view, changes});
  };
}

CASE(learn, turning) {
  open_learn(hand);
  const Lessons& lessons = *hand.stage.panel_input().learn.lessons;
  if (!hand.check(lessons.size() >= 2, "there are lessons")) return;
  const int last = static_cast<int>(lessons[0].steps.size()) - 1;
  hand.each({{learn + "###next", at(hand, lessons, 0, 1)}, {learn + "###back", at(hand, lessons, 0, 0)}});
  hand.leaves("back of the first page", [&] { hand.click(learn + "###back"); });
  hand.changes("a number", [&] { hand.click(learn + "step/" + std::to_string(last + 1)); }, at(hand, lessons, 0, last));
  hand.changes("the next lesson", [&] { hand.key(ImGuiKey_PageDown); }, at(hand, lessons, 1, 0));
  hand.changes("and back", [&] { hand.key(ImGuiKey_PageUp); }, at(hand, lessons, 0, last));
  hand.changes("the list", [&] { hand.click(anywhere + "##" + lessons[1].title); }, at(hand, lessons, 1, 0));
  hand.leaves("the open lesson again", [&] { hand.click(anywhere + "##" + lessons[1].title); });
  hand.leaves("keys of Explore", [&] {
    for (const ImGuiKey key : {ImGuiKey_1, ImGuiKey_L, ImGuiKey_M, ImGuiKey_G, ImGuiKey_Period}) hand.key(key);
  });
}

/// The step on screen counts as read; that is no step of undo, and undo keeps it.
CASE(learn, undo_goes_past_what_was_read) {
  open_learn(hand);
  const Lessons& lessons = *hand.stage.panel_input().learn.lessons;
  hand.check(hand.disabled(top_bar + "###undo"), "reading the first step is no change");
  hand.changes("the next step", [&] { hand.click(learn + "###next"); }, at(hand, lessons, 0, 1));
  hand.key(undo_key, [](Session& s) {
    s.lesson.name.clear();
    s.lesson.step = 0;
  });
  hand.check(hand.disabled(top_bar + "###undo"), "nothing is left to undo");
  hand.key(ImGuiMod_Ctrl | ImGuiKey_Y, at(hand, lessons, 0, 1));
  hand.check(steps_seen(hand.session().lesson, lessons[0]) == 2, "the second step stays read");
}

/// The lines of a title in the list are apart.
CASE(learn, long_titles) {
  open_learn(hand);
  const Lessons& lessons = *hand.stage.panel_input().learn.lessons;
  const auto height = [&](std::size_t i) { return hand.rect(hand.id(anywhere + "##" + lessons[i].title)).GetHeight(); };
  hand.check(height(1) - height(0) > line_height(Face::body) + 3, lessons[1].title + ": two lines and the room between them");
}

CASE(learn, presenting) {
  open_learn(hand);
  const Lessons& lessons = *hand.stage.panel_input().learn.lessons;
  const int last = static_cast<int>(lessons[0].steps.size()) - 1;
  const float small = ImGui::GetStyle().FontScaleMain;
  hand.changes("present", [&] { hand.click(learn + "###present"); }, [](Session& s) { s.lesson.presenting = true; });
  hand.frames(2);
  hand.check(ImGui::GetStyle().FontScaleMain > 1.25f * small, "the type is larger");
  hand.check(!hand.exists(anywhere + "##" + lessons[1].title), "the list is hidden");
  const PresentedStep& presented = hand.stage.state->learn->presented;
  for (const ImGuiKey key : {ImGuiKey_RightArrow, ImGuiKey_PageDown}) {
    const int step = hand.session().lesson.step;
    while (presented.screen + 1 < presented.screens) hand.leaves("a screen on", [&] { hand.key(key); });
    hand.changes("one step on", [&] { hand.key(key); }, at(hand, lessons, 0, step + 1));
  }
  for (const ImGuiKey key : {ImGuiKey_LeftArrow, ImGuiKey_PageUp}) {
    const int step = hand.session().lesson.step;
    while (presented.screen > 0) hand.leaves("a screen back", [&] { hand.key(key); });
    hand.changes("one step back", [&] { hand.key(key); }, at(hand, lessons, 0, step - 1));
    hand.check(presented.screen + 1 == presented.screens, "going back shows the step's last screen first");
  }
  hand.changes("the last step", [&] { hand.key(ImGuiKey_End); }, at(hand, lessons, 0, last));
  hand.changes("the first step", [&] { hand.key(ImGuiKey_Home); }, at(hand, lessons, 0, 0));
  hand.changes("leave", [&] { hand.key(ImGuiKey_Escape); }, [](Session& s) { s.lesson.presenting = false; });
  hand.changes("present by key", [&] { hand.key(ImGuiKey_F5); }, [](Session& s) { s.lesson.presenting = true; });
  hand.changes("leave by key", [&] { hand.key(ImGuiKey_F5); }, [](Session& s) { s.lesson.presenting = false; });
  hand.leaves("arrows while reading", [&] { hand.key(ImGuiKey_RightArrow); });
}

constexpr const char* quiz = R"(# Test

## Step

```quiz
question: Which tile rescales least?
n: 64
vary: block_k=1,4,64
measure: rescales
best: least
explanation: One tile never rescales.
```

```quiz
question: How often does m move on average?
n: 64
block_k: 1
ask: number
measure: expected_rescales
tolerance: 5%
```
)";

CASE(learn, quizzes) {
  open_text(hand, quiz);
  hand.each({{anywhere + "###choice 4", answered(0, {{"answer", "4"}})},
             {anywhere + "###choice 64", answered(0, {{"answer", "64"}})},
             {anywhere + "##answer", answered(1, {{"answer", "3.7"}}), "3.7"}});
  hand.leaves("no number", [&] { hand.fill(anywhere + "##answer", "e"); });
  hand.changes("as it was", [&] { hand.click(learn + "###restore"); }, [](Session& s) { s.lesson.views.clear(); });
  hand.check(problems(hand).empty(), "nothing is wrong");
}

CASE(learn, by_hand) {
  open_text(hand, "# Test\n\n## Step\n\n```quiz\nquestion: 2 + 2?\nask: number\nequals: 4\nexplanation: Count.\n```\n");
  hand.fill(anywhere + "##answer", "5", answered(0, {{"answer", "5"}}));
  const Picture wrong = hand.picture();
  hand.fill(anywhere + "##answer", "4", answered(0, {{"answer", "4"}}));
  hand.check(hand.picture().rgb != wrong.rgb, "the answer is judged");
  hand.check(problems(hand).empty(), "nothing is wrong");
  open_text(hand, "# Test\n\n## Step\n\n```quiz\nquestion: 2 + 2?\nask: number\nequals: four\n```\n");
  hand.check(says(hand, "equals is 'four', expected a number"), "a word is refused");
}

constexpr const char* exercises = R"(# Test

## Step

```exercise
question: What is l after a score?
kind: blanks
of: code
algorithm: flash2
scores: 1 3 2 5
blank: α
blank: l
mistake: l + P | Nothing is rescaled.
explanation: It is the recurrence.
```

```exercise
question: Which order has the largest error?
kind: order
policy: tile
scores: 0.3 4 0 6
```

```exercise
question: Which format survives?
kind: format
policy: base_eager
scores: 500 490 480 460
formats: e4m3, fp16, bf16, fp32
```
)";

/// The session keeps answers, and the page judges them; the reader answers by typing, clicks, the mouse and keys.
CASE(learn, making) {
  open_text(hand, exercises);
  hand.resize(1280, 1200, 2);  // shows all three
  hand.leaves("typing alone", [&] {
    hand.press(hand.place(anywhere + "##blank 2", 0.5f));
    hand.type_only("l + P");
  });
  hand.changes("run", [&] { hand.click(anywhere + "###run"); }, answered(0, {{"answer2", "l + P"}}));
  const Picture wrong = hand.picture();
  hand.fill(anywhere + "##blank 2", "alpha*l + P", answered(0, {{"answer2", "alpha*l + P"}}));
  hand.check(hand.picture().rgb != wrong.rgb, "the answer is judged");
  hand.each({{anywhere + "##blank 1", answered(0, {{"answer", "exp(m_old)"}, {"answer2", "alpha*l + P"}}), "exp(m_old)"},
             {anywhere + "##blank 1", answered(0, {{"answer", "exp(m' - m)"}, {"answer2", "alpha*l + P"}}), "exp(m' - m)"}});

  hand.leaves("no key is chosen", [&] { hand.click(anywhere + "###later"); });
  hand.leaves("a key", [&] { hand.click(anywhere + "###key 2"); });
  hand.each({{anywhere + "###later", answered(1, {{"answer", "0 2 1 3"}})},
             {anywhere + "###earlier", answered(1, {{"answer", "0 1 2 3"}})}});
  hand.drag(hand.place(anywhere + "###key 4", 0.5f), hand.place(anywhere + "###key 3", 0.4f),
            answered(1, {{"answer", "0 1 3 2"}}));
  hand.leaves("the keyboard chooses the key beside", [&] {
    hand.click(anywhere + "###key 1");
    hand.key(ImGuiKey_RightArrow);
    hand.key(ImGuiKey_Space);
  });
  hand.changes("and moves it", [&] { hand.click(anywhere + "###later"); }, answered(1, {{"answer", "0 3 1 2"}}));

  hand.each({{anywhere + "###choice fp16", answered(2, {{"answer", "fp16"}})},
             {anywhere + "###choice bf16", answered(2, {{"answer", "bf16"}})},
             {learn + "###restore", [](Session& s) { s.lesson.views.clear(); }}});
  hand.check(problems(hand).empty(), "nothing is wrong");
}

/// Answers of a session that no window could have given.
CASE(learn, strange_answers) {
  open_text(hand, exercises);
  hand.session().lesson.views = {{"test", 0, {{"answer", std::string(5000, '(')}, {"answer2", "\xff"}}},
                                 {"test", 1, {{"answer", "0 0 7"}}},
                                 {"test", 2, {{"answer", "fp17"}}}};
  hand.frames(3);
  hand.check(problems(hand).empty(), "nothing is wrong with the lesson");
  hand.changes(
      "a key is moved from where it was",
      [&] {
        hand.click(anywhere + "###key 1");
        hand.click(anywhere + "###later");
      },
      [](Session& s) { s.lesson.views[1].changes = {{"answer", "1 0 2 3"}}; });
}

constexpr const char* broken = R"(# Test

## Step

Fine: $m_i = \max(m_{i-1}, s_i)$, and broken: $\frac{1}{$, and $\nosuchthing x$. A [1.0](live:a.joy) and a [2.0](live:rescales?n=64).

```nonsense
n: 4
```

```heatmap
n: minus
```

```quiz
question: How often?
n: 64
ask: number
measure: rescales
tolerance: much
```

$$l = \begin{matrix} 1$$

```code
algorithm: flash2
```

The rest.
)";

CASE(learn, what_is_broken) {
  open_text(hand, broken);
  for (const char* part :
       {"'\\frac{1}{'", "nosuchthing", "a.joy", "'nonsense'", "'minus'", "tolerance is 'much'", "\\begin{matrix}"})
    hand.check(says(hand, part), std::string(part) + " is shown");
  hand.check(!says(hand, "max(m"), "a sound formula is drawn");
  hand.check(!says(hand, "code: "), "the view below it is drawn");
}

CASE(learn, no_lessons) {
  open_learn(hand);
  PanelInput& input = hand.tell();
  for (const auto& none : {std::shared_ptr<const Lessons>(), std::make_shared<const Lessons>()}) {
    input.learn.lessons = none;
    hand.leaves("keys and no page", [&] { hand.key(ImGuiKey_PageDown); });
  }
}

/// The column of the page that holds the text.
const ImGuiWindow& text_column() {
  const ImVector<ImGuiWindow*>& windows = ImGui::GetCurrentContext()->Windows;
  return **std::ranges::find_if(windows,
                                [](const ImGuiWindow* w) { return w->WasActive && has(std::string(w->Name), "/text_"); });
}

/// Height of a PNG, from its header.
int height_of(const std::string& file) {
  const std::string bytes = read_file(file, 1 << 24);
  int height = 0;
  for (std::size_t i = 20; i < 24; ++i) height = height * 256 + static_cast<unsigned char>(bytes.at(i));
  return height;
}

CASE(learn, figure) {
  open_learn(hand);
  hand.stage.exporter = PlotExporter(hand.folder / "");
  hand.leaves("figure", [&] { hand.click(learn + "###figure"); });
  hand.frames(3);
  hand.check(std::filesystem::exists(hand.folder / "attoscope-lesson-1-step-1-1.png"), "the step is a picture");
  hand.key(ImGuiKey_F5);
  hand.leaves("figure while presenting", [&] { hand.click(learn + "###figure"); });
  hand.frames(3);
  const LearnState& told = *hand.stage.state->learn;
  hand.check(has(told.told, "attoscope-lesson-1-step-1-2.png") && told.told_until > ImGui::GetTime(),
             "the notice names the file: " + told.told);
  hand.key(ImGuiKey_F5);

  hand.stage.resize(1000, 500);
  hand.session().lesson.name = "03-three-passes";
  hand.session().lesson.step = 1;
  hand.frames(3);
  const ImGuiWindow& text = text_column();
  hand.wheel({text.Pos.x + 8, text.Pos.y + 100}, -2);
  hand.frames(2);
  const float whole = text.Size.y + text.ScrollMax.y, scrolled = text.Scroll.y;
  hand.check(text.ScrollMax.y > 100 && scrolled > 0, "a page that is scrolled");
  hand.leaves("figure of a long page", [&] { hand.click(learn + "###figure"); });
  hand.frames(4);
  const int height = height_of(hand.folder / "attoscope-lesson-3-step-2-1.png");
  hand.check(std::abs(static_cast<float>(height) - whole) <= 1,
             "the picture has the whole step: " + std::to_string(height) + " of " + std::to_string(whole));
  hand.check(text.Scroll.y == scrolled && text.Size.y < whole, "the window does not change");
  hand.stage.resize(1280, 800);
  hand.stage.exporter = PlotExporter("");
}

/// A heat map of heads from a file, which the lesson's view has not read.
CASE(learn, figure_of_captured_heads) {
  if (!has_gnuplot()) return;
  open_learn(hand);
  hand.stage.exporter = PlotExporter(hand.folder / "pictures");
  hand.view().figure.as = ExportAs::svg;
  Lesson lesson = parse_lesson(
      "test", "# Test\n\n## Step\n\n```heatmap\nfield: a_ulps\ninput: presets/tied_maxima.safetensors\nn: 64\n```\n");
  resolve(lesson);
  Session of;
  for (const LessonBlock& block : lesson.steps[0].blocks)
    for (const LessonView& view : block.view) of.experiment = view.experiment;
  hand.check(of.experiment.problem.input.kind == InputKind::tensors, "the view is of a file");
  ExportRequest wanted{.name = "heat map", .plot = Plot::heat_map};
  wanted.of = std::make_shared<const Session>(std::move(of));
  hand.stage.exporter.ask(wanted, hand.session(), hand.stage.panel_input());
  hand.await("the work is done", [&] { return !hand.stage.exporter.busy(); });
  hand.frames(1);
  hand.check(std::filesystem::exists(hand.folder / "pictures/attoscope-heat-map-1/attoscope-heat-map-1.svg"),
             "a figure is drawn: " + hand.error());
  hand.stage.exporter = PlotExporter("");
}

/// Draws every page of every shipped lesson without a fault.
CASE(learn, every_page) {
  open_learn(hand);
  const std::shared_ptr<const Lessons> lessons = hand.stage.panel_input().learn.lessons;
  for (const Lesson& lesson : *lessons)
    for (int step = 0; step < static_cast<int>(lesson.steps.size()); ++step) {
      open_lesson(hand.session().lesson, lesson, step);
      hand.frames(2);
      const std::string page = lesson.name + ", step " + std::to_string(step + 1);
      hand.check(hand.session().lesson.name == lesson.name && hand.session().lesson.step == step, page + " is open");
      for (const std::string& problem : problems(hand)) hand.check(false, page + ": " + problem);
    }
  for (const Lesson& lesson : *lessons)
    hand.check(steps_seen(hand.session().lesson, lesson) == static_cast<int>(lesson.steps.size()), lesson.name + " was read");
}

/// The column of a text is first shown when its tables have their final heights.
CASE(learn, a_table_pushes_nothing) {
  open_text(
      hand,
      "# Test\n\n## One\n\nText.\n\n## Two\n\n| format | words |\n|---|---|\n| bf16 | eight bits of the exponent, seven of "
      "the fraction, and one for the sign |\n| fp16 | five and ten |\n\nText below.\n");
  hand.session().lesson.step = 1;
  struct Drawn {
    ImGuiID column;
    bool covered;
    float height;
  };
  std::vector<Drawn> drawn;
  for (int i = 0; i < 12; ++i) {
    hand.frames(1);
    for (const ImGuiWindow* w : ImGui::GetCurrentContext()->Windows)
      if (w->Active && has(w->Name, "/text_") && !w->DrawList->VtxBuffer.empty())
        drawn.push_back(
            {w->ID, w->DrawList->VtxBuffer.back().col == colours().panel, w->DC.CursorMaxPos.y - w->DC.CursorStartPos.y});
  }
  if (!hand.check(!drawn.empty(), "the page is drawn")) return;
  const Drawn last = drawn.back();
  std::erase_if(drawn, [&](const Drawn& d) { return d.column != last.column; });  // the page before
  hand.check(!last.covered, "the page is shown");
  hand.check(std::ranges::any_of(drawn, &Drawn::covered), "its first frames are not shown");
  for (const Drawn& d : drawn)
    hand.check(d.covered || std::abs(d.height - last.height) <= 1, "a shown page is " + std::to_string(d.height) + " high");
}

/// Numbers in the text are computed and shown; a click opens their setting.
CASE(learn, live_numbers) {
  open_learn(hand);
  const std::shared_ptr<const Lessons> lessons = hand.stage.panel_input().learn.lessons;
  for (const Lesson& lesson : *lessons)
    for (int step = 0; step < static_cast<int>(lesson.steps.size()); ++step)
      for (const LessonBlock& block : lesson.steps[static_cast<std::size_t>(step)].blocks) {
        if (block.numbers.empty()) continue;
        open_lesson(hand.session().lesson, lesson, step);
        const LessonQuestion& asked = block.numbers.front().question;
        const auto known = [&] {
          const auto answers = hand.stage.panel_input().learn.answers;
          return answers && std::ranges::any_of(*answers, [&](const LessonAnswerPtr& a) { return a->question == asked; });
        };
        hand.await(lesson.name + ": " + block.numbers.front().target + " is answered", known);
        const LessonQuestion question = asked;
        hand.click(anywhere + "number", settled);
        const Experiment& e = hand.experiment();
        hand.check(hand.view().workspace == Workspace::explore && e.format == question.experiment.format &&
                       e.problem.n == question.experiment.problem.n && e.a.precision == question.experiment.a.precision,
                   "a click on a number opens its setting");
        hand.check(hand.session().lesson.step == step, "Learn stays at its step");
        return;
      }
}

/// Expects that a control has a tooltip with the margins of all tooltips.
void expect_tooltip(Hand& hand, ImGuiID item, const std::string& label) {
  hand.check(hand.explained(item), "'" + label + "' has no tooltip");
  const ImVec2 usual = ImGui::GetStyle().WindowPadding;
  for (const ImGuiWindow* const w : ImGui::GetCurrentContext()->Windows)
    if ((w->Flags & ImGuiWindowFlags_Tooltip) != 0 && w->Active && !w->Hidden)
      hand.check(w->WindowPadding.x == usual.x && w->WindowPadding.y == usual.y, "margins of the tooltip of '" + label + "'");
}

/// Every control of the list, of a page with quizzes, of the bar below and of exercises has a tooltip.
CASE(learn, tooltips) {
  open_text(hand, exercises);
  hand.resize(1280, 1200, 2);
  for (const char* const control : {"##blank 1", "###run", "###key 1", "###earlier", "###later", "###choice fp16"})
    expect_tooltip(hand, hand.id(anywhere + control), control);
  hand.stage.resize(1280, 800);
  open_text(hand, quiz);
  int count = 0;
  for (const auto& [id, label] : hand.items("//Learn")) {
    if (label.empty() || label.starts_with("#SCROLL") || label.starts_with("#RESIZE")) continue;
    ++count;
    expect_tooltip(hand, id, label);
  }
  hand.check(count >= 11, "a lesson, a dot, five buttons, three choices, a field; found " + std::to_string(count));
}

}  // namespace

}  // namespace attoscope::testing
