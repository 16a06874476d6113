// Lessons as values: the parts of a text, its faults, and the answers to its questions.
#include "app/explore/lessons.h"

#include <cmath>
#include <filesystem>

#include "app/session/session.h"
#include "app/sweep/sweep.h"
#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/questions/sum_drift.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "ui/learn/lesson_steps.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

Lesson resolved(std::string_view text) {
  Lesson lesson = parse_lesson("test", text);
  resolve(lesson);
  return lesson;
}

/// The first view of a lesson that holds `body` in a block of `language`.
LessonView view_of(const std::string& language, const std::string& body) {
  const Lesson lesson = resolved("# T\n\n## S\n\n```" + language + "\n" + body + "```\n");
  EXPECT_EQ(lesson.steps.size(), 1u);
  EXPECT_EQ(lesson.steps[0].blocks.size(), 1u);
  return lesson.steps[0].blocks.at(0).view.at(0);
}

TEST(Lesson, BeginsAStepAtEveryHeading) {
  const Lesson lesson = parse_lesson("01-x", "# Title\n\nBefore.\n\n## One\n\nText *one*.\n\n### no step\n\n## Two\n");
  EXPECT_EQ(lesson.name, "01-x");
  EXPECT_EQ(lesson.title, "Title");
  ASSERT_EQ(lesson.steps.size(), 3u);
  EXPECT_EQ(lesson.steps[0].title, "Title");
  EXPECT_EQ(lesson.steps[0].blocks[0].markdown, "Before.\n\n");
  EXPECT_EQ(lesson.steps[1].title, "One");
  EXPECT_EQ(lesson.steps[1].blocks[0].markdown, "Text *one*.\n\n### no step\n\n");
  EXPECT_EQ(lesson.steps[1].blocks[0].line, 7);
  EXPECT_THAT(lesson.steps[2].blocks, IsEmpty());
}

TEST(Lesson, SaysWhatItNeeds) {
  const Lesson lesson = parse_lesson("x", "# T\n\nNeeds lesson 2. Takes 20 minutes.\n\n## A\n\nNeeds no reader.\n");
  EXPECT_EQ(lesson.needs, "Needs lesson 2. Takes 20 minutes.");
  ASSERT_EQ(lesson.steps.size(), 1u);
  EXPECT_EQ(lesson.steps[0].blocks.at(0).markdown, "Needs no reader.\n");
  EXPECT_EQ(parse_lesson("x", "# T\n\n## A\n").needs, "");
}

TEST(Lesson, KeepsPlainCodeWithItsHeadings) {
  const Lesson lesson = parse_lesson("x", "# T\n## A\n```cpp\n## no heading\nint x;\n```\nafter\n");
  ASSERT_EQ(lesson.steps.size(), 1u);
  EXPECT_EQ(lesson.steps[0].blocks.at(0).markdown, "```cpp\n## no heading\nint x;\n```\nafter\n");
}

TEST(Lesson, ReadsViewsWithTheirKeysInOrder) {
  const LessonView view =
      view_of("plot", "kind: sweep\nvary: block_k=16,64\n\n  vary:  format=bf16,fp16 \nmeasure: ratio.mean_abs\nn: 128\n");
  EXPECT_EQ(view.kind, LessonViewKind::plot);
  EXPECT_EQ(view.line, 5);
  EXPECT_EQ(view.index, 0);
  EXPECT_EQ(view.problem, "");
  EXPECT_THAT(view.parameters, ElementsAre(LessonParameter{"kind", "sweep"}, LessonParameter{"vary", "block_k=16,64"},
                                           LessonParameter{"vary2", "format=bf16,fp16"},
                                           LessonParameter{"measure", "ratio.mean_abs"}, LessonParameter{"n", "128"}));
  EXPECT_EQ(written(view, "measure"), "ratio.mean_abs");
  EXPECT_EQ(written(view, "nothing"), "");
}

TEST(Lesson, SetsTheExperimentOfAView) {
  const LessonView view =
      view_of("heatmap", "field: a_error\nformat: fp16\npolicy: tile\na.O: exact\nn: 96\nblock_k: 16\nseed: 7\n");
  EXPECT_EQ(view.problem, "");
  Experiment e = lesson_experiment();
  e.format = fp16;
  e.a.precision = policy("tile").precision;
  e.a.precision[Step::O] = exact;
  e.problem.n = 96;
  e.problem.seed = 7;
  e.a.block_k = e.b.block_k = 16;
  EXPECT_EQ(view.experiment, e);
}

TEST(Lesson, SaysInPlaceWhatIsWrongWithAView) {
  const auto problem = [](const std::string& language, const std::string& body) { return view_of(language, body).problem; };
  EXPECT_THAT(problem("recurence", "n: 4\n"),
              AllOf(HasSubstr("line 5"), HasSubstr("'recurence'"), HasSubstr("recurrence, code, bits")));
  EXPECT_THAT(problem("heatmap", "flavour: sweet\n"),
              AllOf(HasSubstr("line 5"), HasSubstr("'flavour'"), HasSubstr("expected")));
  EXPECT_THAT(problem("heatmap", "n: many\n"), AllOf(HasSubstr("'many'"), HasSubstr("expected")));
  EXPECT_THAT(problem("heatmap", "n: 0\n"), HasSubstr("'0'"));
  EXPECT_THAT(problem("heatmap", "format: bf17\n"), HasSubstr("bf17"));
  EXPECT_THAT(problem("heatmap", "just words\n"), HasSubstr("'just words' has no key"));
  EXPECT_THAT(problem("heatmap", "n: 64\nn: 65\n"), HasSubstr("'n' is given twice"));
  EXPECT_THAT(problem("heatmap", "field:\n"), HasSubstr("'field' has no value"));
  EXPECT_THAT(problem("plot", "kind: sweep\nvary: block_k\n"), HasSubstr("expected KEY=VALUES"));
  EXPECT_THAT(problem("quiz", "question: q\nvary: block_k=1,2\nmeasure: a.beauty\n"), HasSubstr("a.beauty"));
  EXPECT_THAT(problem("policy", "input: nowhere.safetensors:x\n"), HasSubstr("expected"));
}

TEST(Lesson, KeepsTheRestOfThePageBesideWhatIsBroken) {
  const Lesson lesson = resolved("# T\n## S\nbefore\n```nonsense\nx\n```\nbetween\n```heatmap\nn: 64\n```\nafter\n");
  const std::vector<LessonBlock>& blocks = lesson.steps.at(0).blocks;
  ASSERT_EQ(blocks.size(), 5u);
  EXPECT_EQ(blocks[0].markdown, "before\n");
  EXPECT_NE(blocks[1].view.at(0).problem, "");
  EXPECT_EQ(blocks[2].markdown, "between\n");
  EXPECT_EQ(blocks[3].view.at(0).problem, "");
  EXPECT_EQ(blocks[3].view.at(0).index, 0);
  EXPECT_EQ(blocks[4].markdown, "after\n");
}

TEST(Lesson, SurvivesAnyText) {
  for (const std::string_view text :
       {"", "\n\n", "#", "# ", "no title", "## step without title", "# T\n```heatmap\nn: 64", "# T\n```heatmap", "```", "~~~~",
        "# T\n[](live:)", "# T\n[1](live:a.mean_abs", "# T\n](live:x)", "\xef\xbb\xbf# T\r\n\r\n## S\r\n\r\ntext\r\n",
        "# T\n\x01\xff\xfe $ $$ $$$"}) {
    const Lesson lesson = resolved(text);
    EXPECT_GE(lesson.steps.size(), 1u) << text;
  }
  EXPECT_EQ(resolved("\xef\xbb\xbf# T\r\n\r\n## S\r\n\r\ntext\r\n").title, "T");
  EXPECT_EQ(resolved("\xef\xbb\xbf# T\r\n## S\r\ntext\r\n").steps.at(0).blocks.at(0).markdown, "text\n");
  EXPECT_THAT(resolved("# T\n```heatmap\nn: 64").steps.at(0).blocks.at(0).view.at(0).problem, HasSubstr("never closed"));
  EXPECT_THAT(resolved("no title").steps.at(0).blocks.at(0).view.at(0).problem, HasSubstr("# "));
}

TEST(Lesson, TakesLiveNumbersOutOfTheText) {
  const Lesson lesson = resolved(
      "# T\n## S\nErr [1.6e-3](live:a.mean_abs?policy=eager&n=64&input=ascending), see "
      "[paper](https://arxiv.org/abs/1805.02867)\nand\n"
      "[2](live:ratio.mean_abs) and [3](live:a.joy) and [4](live:a.mean_abs?n) and [5](live:a.mean_abs?n=0).\n");
  const LessonBlock& block = lesson.steps.at(0).blocks.at(0);
  EXPECT_EQ(block.markdown,
            "Err <num0/>, see [paper](https://arxiv.org/abs/1805.02867)\nand\n<num1/> and <num2/> and <num3/> and <num4/>.\n");
  ASSERT_EQ(block.numbers.size(), 5u);
  EXPECT_EQ(block.numbers[0].written, "1.6e-3");
  EXPECT_EQ(block.numbers[0].problem, "");
  EXPECT_EQ(block.numbers[0].question.measure, "a.mean_abs");
  EXPECT_EQ(block.numbers[0].question.experiment.problem.n, 64);
  EXPECT_EQ(block.numbers[0].question.experiment.problem.input.kind, InputKind::ascending);
  EXPECT_EQ(block.numbers[0].question.experiment.a.precision, policy("eager").precision);
  EXPECT_EQ(block.numbers[1].question.experiment, lesson_experiment());
  EXPECT_THAT(block.numbers[2].problem, AllOf(HasSubstr("line 5"), HasSubstr("a.joy")));
  EXPECT_THAT(block.numbers[3].problem, HasSubstr("'n' has no value"));
  EXPECT_THAT(block.numbers[4].problem, HasSubstr("'0'"));
}

TEST(LiveNumber, IsWrittenAsTheLessonWritesIt) {
  EXPECT_EQ(live_text("1.62e-3", 0.00345678), "3.46e-3");
  EXPECT_EQ(live_text("2e-5", 1.4e-4), "1e-4");
  EXPECT_EQ(live_text("5.12", 7.0), "7.00");
  EXPECT_EQ(live_text("15", 14.6), "15");
  EXPECT_EQ(live_text("0.05", 1.0 / 3), "0.33");
  EXPECT_EQ(live_text("3.0×", 2.96), "3.0×");
  EXPECT_EQ(live_text("+0.25", 0.5), "+0.50");
  EXPECT_EQ(live_text("+0.25", -0.5), "-0.50");
  EXPECT_EQ(live_text("12 %", 0.0731), "7 %");
  EXPECT_EQ(live_text("1.5 MB", 3e6), "3.0 MB");
  EXPECT_EQ(live_text("1.5", NAN), "NaN");
}

TEST(LessonAnswers, AreThoseOfComputeAndOfSweeps) {
  LessonQuestion q{.experiment = lesson_experiment()};
  q.experiment.problem.n = 64;
  const Result truth = compute(q.experiment);
  const LessonAnswer whole = answer(q, {});
  ASSERT_TRUE(whole.result);
  EXPECT_EQ(whole.problem, "");
  EXPECT_EQ(whole.result->digests.a, truth.digests.a);
  EXPECT_EQ(whole.result->experiment, q.experiment);

  q.measure = "ratio.mean_abs";
  const LessonAnswer number = answer(q, {});
  EXPECT_FALSE(number.result);
  ASSERT_EQ(number.table.cells.size(), 1u);
  EXPECT_EQ(number.number(), truth.a_error.mean_abs / truth.b_error.mean_abs);

  q.measure = "a.mean_abs";
  q.vary = {"block_k=16,32", "format=bf16,fp16,fp32"};
  q.seeds = 3;
  const LessonAnswer sweep = answer(q, {});
  EXPECT_EQ(sweep.problem, "");
  ASSERT_EQ(sweep.table.axes.size(), 2u);
  EXPECT_EQ(sweep.table.axes[0].key, "block_k");
  EXPECT_THAT(sweep.table.axes[0].numbers, ElementsAre(16, 32));
  EXPECT_TRUE(sweep.table.axes[1].numbers.empty());
  ASSERT_EQ(sweep.table.cells.size(), 6u);
  Experiment e = q.experiment;  // block_k 32, fp16: the fifth cell
  e.a.block_k = e.b.block_k = 32;
  e.format = fp16;
  double sum = 0, squares = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    e.problem.seed = seed;
    const double x = compute(e).a_error.mean_abs;
    sum += x, squares += x * x;
  }
  EXPECT_NEAR(sweep.table.cells[4].mean, sum / 3, 1e-15);
  EXPECT_NEAR(sweep.table.cells[4].std, std::sqrt((squares - sum * sum / 3) / 2), 1e-12);
}

TEST(LessonAnswers, OfSumsAreTheirDrift) {
  const LessonAnswer number = answer(parse_live("sum.h100.flush4?n=512&format=e4m3&seed=3"), {});
  EXPECT_EQ(number.problem, "");
  EXPECT_EQ(number.table.measure, "mean |error| of P·V on h100, of mean |P·V|, flushed every 4 tiles");
  ASSERT_EQ(number.table.cells.size(), 1u);
  EXPECT_EQ(number.number(), sum_drift({.n = 512, .flush = 4, .seed = 3}));
  LessonQuestion q{.experiment = lesson_experiment(), .measure = "sum.a2.centred", .vary = {"n=64,256"}, .seeds = 2};
  const LessonAnswer curve = answer(q, {});
  ASSERT_EQ(curve.table.cells.size(), 2u);
  const auto at = [](int n, std::uint64_t seed) {
    return sum_drift({.gpu = TensorCore::a2, .format = bf16, .n = n, .mean = 0, .seed = seed});
  };
  EXPECT_EQ(curve.table.cells[1].mean, (at(256, 1) + at(256, 2)) / 2);
  for (const char* const wrong : {"sum.h800", "sum.h100.flush", "sum.h100.flush0", "sum.h100.flush4x", "sum.h100.both", "sum."})
    EXPECT_THROW(parse_live(wrong), std::invalid_argument) << wrong;
  EXPECT_THAT(answer(parse_live("sum.a100?format=e4m3"), {}).problem, HasSubstr("a100 multiplies no e4m3"));
}

TEST(LessonAnswers, OfTheSpikesControlDoNotEndWhereADiverges) {
  EXPECT_EQ(answer(parse_live("train.spike.rise.a?seed=102093"), {}).number(), INFINITY);
  EXPECT_NEAR(answer(parse_live("train.spike.rise.b?seed=102093"), {}).number(), 0.14, 0.03) << "0 after two steps";
}

TEST(LessonAnswers, SayWhyThereIsNone) {
  LessonQuestion q{.experiment = lesson_experiment()};
  q.experiment.problem.n = max_n;
  EXPECT_THAT(answer(q, {}).problem, HasSubstr("1048576"));
  q.experiment = lesson_experiment();
  q.measure = "a.mean_abs";
  q.vary = {"block_k=1:4096", "seed=1:4096"};
  EXPECT_NE(answer(q, {}).problem, "");
  q.vary = {"beauty=1"};
  EXPECT_THAT(answer(q, {}).problem, HasSubstr("beauty"));
  q.vary = {};
  q.experiment.problem.input.kind = InputKind::tensors;
  q.experiment.problem.input.file = "/nowhere.safetensors";
  EXPECT_THAT(answer(q, {}).problem, HasSubstr("/nowhere.safetensors"));
}

TEST(LessonAnswerer, AnswersWhatIsAskedOnAThreadOfItsOwn) {
  LessonAnswerer answerer([] {});
  LessonQuestion small{.experiment = lesson_experiment(), .measure = "rescales"}, other = small;
  small.experiment.problem.n = other.experiment.problem.n = 64;
  other.experiment.a.block_k = other.experiment.b.block_k = 16;
  answerer.ask({small, other});
  while (answerer.busy()) answerer.update();
  answerer.update();
  ASSERT_TRUE(answerer.answers());
  ASSERT_EQ(answerer.answers()->size(), 2u);
  for (const LessonQuestion& q : {small, other}) {
    const LessonAnswerPtr found = answer_of(answerer.answers().get(), q);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->number(), compute(q.experiment).rescales.effective_mean);
  }
  answerer.ask({other});
  EXPECT_FALSE(answerer.busy()) << "a known answer is not computed again";
}

TEST(LessonAnswerer, ForgetsTheOldestWhereAnswersAreLarge) {
  LessonAnswerer answerer([] {});
  LessonQuestion wide{.experiment = lesson_experiment()};
  wide.experiment.problem.n = 64;
  wide.experiment.problem.d = 1024;  // 3 MB with inputs, golden, a and b
  constexpr std::uint64_t last = 25;
  for (std::uint64_t& seed = wide.experiment.problem.seed = 1; seed <= last; ++seed) {
    answerer.ask({wide});
    while (answerer.busy()) answerer.update();
    answerer.update();
    ASSERT_NE(answer_of(answerer.answers().get(), wide), nullptr) << "the requested answer is kept";
  }
  EXPECT_LE(answerer.answers()->size(), 22u);
  wide.experiment.problem.seed = last - 1;
  EXPECT_NE(answer_of(answerer.answers().get(), wide), nullptr) << "so is the answer before it";
}

TEST(VaryInLesson, ChangesOrSaysWhyNot) {
  Experiment e = lesson_experiment();
  EXPECT_EQ(vary_in_lesson(e, "block_k", "32"), "");
  EXPECT_EQ(e.a.block_k, 32);
  const Experiment before = e;
  EXPECT_THAT(vary_in_lesson(e, "n", "-3"), HasSubstr("'-3'"));
  EXPECT_THAT(vary_in_lesson(e, "joy", "1"), HasSubstr("'joy'"));
  EXPECT_EQ(e, before);
  EXPECT_EQ(vary_in_lesson(e, "input", "example:1"), "");
  EXPECT_EQ(e.problem.input.kind, InputKind::tensors);
  EXPECT_EQ(e.problem.input.index, 1);
}

TEST(LessonFiles, AreReadInTheOrderOfTheirNames) {
  const testing::TemporaryDirectory directory;
  directory.write("02-b.md", "# B\n");
  directory.write("01-a.md", "# A\n## S\n```heatmap\nn: 64\n```\n");
  directory.write("README.md", "# no lesson\n");
  directory.write("notes.txt", "# no lesson\n");
  std::filesystem::create_directory(directory / "03-c.md");
  const Lessons lessons = read_lessons(directory / "");
  ASSERT_EQ(lessons.size(), 3u);
  EXPECT_EQ(lessons[0].title, "A");
  EXPECT_EQ(lessons[0].steps.at(0).blocks.at(0).view.at(0).experiment.problem.n, 64);
  EXPECT_EQ(lessons[1].name, "02-b");
  EXPECT_THAT(lessons[2].steps.at(0).blocks.at(0).markdown, HasSubstr("03-c.md")) << "an unreadable lesson shows the error";
  EXPECT_THAT(read_lessons("/nowhere"), IsEmpty());
}

std::string name_and_step(const LessonState& state) { return state.name + " " + std::to_string(state.step); }

TEST(LessonPlace, TurnsPagesAcrossLessons) {
  const Lessons lessons{parse_lesson("a", "# A\n## 1\n## 2\n"), parse_lesson("b", "# B\n## 3\n")};
  LessonState state;
  EXPECT_EQ(place_of(state, &lessons).lesson, &lessons[0]) << "without a choice the first lesson is shown";
  EXPECT_EQ(place_of(state, nullptr).lesson, nullptr);
  turn_page(state, &lessons, -1);
  EXPECT_EQ(state.step, 0);
  turn_page(state, &lessons, 1);
  EXPECT_EQ(name_and_step(state), "a 1");
  turn_page(state, &lessons, 1);
  EXPECT_EQ(name_and_step(state), "b 0");
  turn_page(state, &lessons, 1);
  EXPECT_EQ(name_and_step(state), "b 0") << "the last page stays";
  turn_page(state, &lessons, -1);
  EXPECT_EQ(name_and_step(state), "a 1");
  turn_to_end(state, &lessons, false);
  EXPECT_EQ(state.step, 0);
  turn_to_end(state, &lessons, true);
  EXPECT_EQ(state.step, 1);
  state.step = 99;
  EXPECT_EQ(place_of(state, &lessons).step, 1) << "a step beyond the end becomes the last step";
  see_step(state, place_of(state, &lessons));
  EXPECT_EQ(steps_seen(state, lessons[0]), 2);
  EXPECT_EQ(steps_seen(state, lessons[1]), 0);
  Session session;
  session.lesson.presenting = true;
  EXPECT_EQ(shown_scale(session, 1280, 800), session.view.ui_scale) << "presenting applies to Learn only";
  session.view.workspace = Workspace::learn;
  EXPECT_GE(16 * shown_scale(session, 1280, 800), 22) << "text, in pixels";
  EXPECT_GE(14.5 * shown_scale(session, 1280, 800), 20) << "code, in pixels";
  EXPECT_EQ(shown_scale(session, 1920, 1080), 1.5);
  EXPECT_EQ(shown_scale(session, 3840, 2160), 3) << "the same layout at twice the resolution";
}

TEST(LessonState, TravelsWithTheSession) {
  Session session;
  session.view.workspace = Workspace::learn;
  session.lesson = {.name = "04-x",
                    .step = 3,
                    .presenting = true,
                    .views = {{"04-x", 2, {{"block_k", "16"}, {"a.O", "fp32"}}}},
                    .progress = {{"04-x", 4}}};
  std::vector<std::string> remarks;
  EXPECT_EQ(parse_session(session_text(session), remarks), session);
  EXPECT_THAT(remarks, IsEmpty());
  const Session broken = parse_session(
      R"({"schema":"attoscope.session/1","lesson":{"name":3,"step":-1,"views":[{"view":-5,"changes":[7]}]}})", remarks);
  EXPECT_EQ(broken.lesson.name, "");
  EXPECT_EQ(broken.lesson.step, 0);
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("lesson.name"), HasSubstr("lesson.step"), HasSubstr("lesson.views[0].view"),
                                   HasSubstr("lesson.views[0].changes[0]")));
}

}  // namespace
}  // namespace attoscope
