// Exercises of lessons: faults of an exercise block, answers to a solution, and the computed right values.
#include "ui/frame/exercise.h"

#include <cmath>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "app/explore/lesson_pages.h"
#include "app/explore/lessons.h"
#include "kernels/questions/backward_row.h"
#include "tests/support/matchers.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

Lesson lesson_of(const std::string& name, const std::string& body) {
  Lesson lesson = parse_lesson(name, "# T\n\n## S\n\n```exercise\n" + body + "```\n");
  resolve(lesson);
  return lesson;
}
LessonView view_of(const std::string& body) { return lesson_of("test", body).steps.at(0).blocks.at(0).view.at(0); }
std::string problem_of(const std::string& body) { return view_of(body).problem; }
Exercise read(const std::string& body) {
  const LessonView view = view_of(body);
  EXPECT_EQ(view.problem, "");
  return exercise_of(view);
}

const std::string row = "question: Q?\nscores: 1 3 2 5\n";
const std::string l_blank =
    row +
    "kind: blanks\nof: recurrence\nblank: l = exp(m_old - m) * l_old + exp(s - m)\n"
    "mistake: l_old + exp(s - m) | No rescale.\nmistake: exp(m - m_old) * l_old + exp(s - m) | The wrong sign.\n";
std::string code_of(const std::string& algorithm, const std::string& blanks) {
  return row + "kind: blanks\nof: code\nalgorithm: " + algorithm + "\n" + blanks;
}

TEST(Exercise, TellsTheFirstStepWhereAnAnswerPartsFromTheRun) {
  const Blank l = read(l_blank).blanks.at(0);
  EXPECT_EQ(judge_blank(l, "l_old + exp(s - m)").sentence,
            "At step 2 (s = 3) yours gives l = 2, the recurrence 1.135. No rescale.");
  EXPECT_EQ(judge_blank(l, "exp(s - m) + 1 * l_old").sentence, judge_blank(l, "l_old + exp(s - m)").sentence)
      << "the values are compared, not the texts";
  EXPECT_EQ(judge_blank(l, "exp(m - m_old) * l_old + exp(s - m)").sentence,
            "At step 1 (s = 1) yours gives l = NaN, the recurrence 1. The wrong sign.");
  EXPECT_EQ(judge_blank(l, "1/l_old").sentence, "At step 1 (s = 1) yours gives l = ∞, the recurrence 1.");
  EXPECT_EQ(judge_blank(l, "l_old").sentence, "At step 1 (s = 1) yours gives l = 0, the recurrence 1.");
  EXPECT_THAT(judge_blank(l, "(exp(m_old - m) * l_old + exp(s - m)) * 1.000001").sentence,
              HasSubstr("yours gives l = 1.000001, the recurrence 1."))
      << "enough digits to distinguish the two values";
  EXPECT_THAT(judge_blank(l, "m_nev").sentence, StartsWith("'m_nev' is no name here at character 1, expected one of s, v, "));
  const AnswerVerdict right = judge_blank(l, "exp(s-m) + l_old/exp(m-m_old)");
  EXPECT_TRUE(right.right) << right.sentence;
}

TEST(Exercise, IsNotSolvedByWhatFitsItsRowAlone) {
  const Blank m = read("question: Q?\nscores: 1 2 3\nkind: blanks\nof: recurrence\nblank: m = max(m_old, s)\n").blanks.at(0);
  EXPECT_EQ(judge_blank(m, "s").sentence, "At another row, step 2 (s = -1.2) yours gives m = -1.2, the recurrence 0.7.");
}

TEST(Exercise, HasTheRightValuesOfPlainSums) {
  const Exercise x = read(row +
                          "kind: blanks\nof: merge\nvalues: 1 -2 0.5 3\nblank: m = max(m1, m2)\n"
                          "blank: l = exp(m1 - m) * l1 + exp(m2 - m) * l2\nblank: o = exp(m1-m)*o1 + exp(m2-m)*o2\n");
  const double l = std::exp(-4) + std::exp(-2) + std::exp(-3) + 1, o = std::exp(-4) - 2 * std::exp(-2) + 0.5 * std::exp(-3) + 3;
  ASSERT_EQ(x.blanks.size(), 3u);
  EXPECT_EQ(x.blanks[0].cases.size(), 3u + 7u) << "every split of the row, and of a second row";
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(x.blanks[0].cases[i].right, 5);
    EXPECT_NEAR(x.blanks[1].cases[i].right, l, 1e-14);
    EXPECT_NEAR(x.blanks[2].cases[i].right, o, 1e-14);
  }
  EXPECT_THAT(judge_blank(x.blanks[1], "l1 + l2").sentence,
              AllOf(StartsWith("At the split after key 1 yours gives l = "), HasSubstr(", the whole row 1.203")));
}

/// o of the question for these k and q, by the definition of attention.
double attend(const BackwardRowQuestion& x, std::vector<double> k, double q) {
  double l = 0, o = 0;
  for (std::size_t j = 0; j < k.size(); ++j) {
    const double e = std::exp(x.scale * q * k[j]);
    l += e;
    o += e * x.values[j];
  }
  return o / l;
}

TEST(BackwardRow, HasTheSlopesOfTheLoss) {
  const BackwardRowQuestion x{.scores = {1, 3, 2, 0.5}, .values = {0.5, -1, 2, 0.25}, .q = 4, .scale = 0.5, .d_o = 1.5};
  const BackwardRow run = backward_row(x);
  constexpr double step = 1e-5;
  const auto slope = [&](const auto& loss) { return x.d_o * (loss(step) - loss(-step)) / (2 * step); };
  EXPECT_NEAR(run.o, attend(x, run.k, x.q), 1e-14);
  EXPECT_NEAR(run.dQ.back(), slope([&](double h) { return attend(x, run.k, x.q + h); }), 1e-8);
  double dS = 0;
  for (std::size_t j = 0; j < run.k.size(); ++j) {
    const auto moved = [&](double h) {
      std::vector<double> k = run.k;
      k[j] += h;
      return attend(x, k, x.q);
    };
    const auto with_value = [&](double h) {
      BackwardRowQuestion other = x;
      other.values[j] += h;
      return attend(other, run.k, x.q);
    };
    EXPECT_NEAR(run.dK[j], slope(moved), 1e-8) << j;
    EXPECT_NEAR(run.dV[j], slope(with_value), 1e-8) << j;
    EXPECT_NEAR(run.dP[j], x.d_o * x.values[j], 1e-12) << j;
    EXPECT_NEAR(run.P[j], std::exp(x.scores[j] - run.L), 1e-14) << j;
    dS += run.dS[j];
  }
  EXPECT_NEAR(dS, 0, 1e-14);
  EXPECT_NEAR(run.delta, x.d_o * run.o, 1e-14);
}

TEST(BackwardRow, HasDPWherePUnderflows) {
  const BackwardRow run = backward_row({.scores = {0, 800}, .values = {3, 2}, .d_o = 1.5});
  EXPECT_EQ(run.P[0], 0);
  EXPECT_EQ(run.dP, (std::vector<double>{4.5, 3}));
}

TEST(Exercise, OfABackwardPassTellsTheFirstKeyWhereAnAnswerPartsFromTheRun) {
  const Exercise x = read(row +
                          "kind: blanks\nof: backward\nvalues: 1 -2 0.5 3\nblank: dS = P * (dP - delta)\n"
                          "blank: dQ = dQ_old + scale * dS * k\n");
  EXPECT_EQ(x.blanks.at(0).cases.size(), 4u + 8u) << "every key of the row, and of a second row";
  EXPECT_THAT(judge_blank(x.blanks[0], "P * dP").sentence,
              AllOf(StartsWith("At key 1 (s = 1) yours gives dS = "), HasSubstr(", the backward pass ")));
  EXPECT_THAT(judge_blank(x.blanks[0], "dS").sentence, HasSubstr("'dS' is no name here"));
  EXPECT_TRUE(judge_blank(x.blanks[0], "exp(s - m)/l * (dO * v - dO * o)").right);
  EXPECT_FALSE(judge_blank(x.blanks[1], "dQ_old + scale * dS * q").right);
  EXPECT_THAT(problem_of(row + "kind: blanks\nof: backward\nblank: dO = 1\n"),
              HasSubstr("blank is 'dO', expected P, dV, dP, delta, dS, dQ or dK before ="));
}

TEST(Exercise, EveryLineOfTheCodeThatComputesMayBeLeftOut) {
  const std::vector<std::pair<std::string, std::string>> blanks{
      {"three_pass", "m l P_j O"}, {"two_pass", "m α l P"}, {"flash1", "m~ P m α"}, {"flash1", "β l O"},
      {"flash2", "m α P l"},       {"flash2", "O"},         {"flash4", "α P l O"}};
  for (const auto& [algorithm, targets] : blanks) {
    std::string lines;
    std::istringstream names(targets);
    for (std::string target; names >> target;) lines += "blank: " + target + "\n";
    const Exercise x = read(code_of(algorithm, lines));
    for (const Blank& blank : x.blanks)
      EXPECT_TRUE(judge_blank(blank, blank.solution).right) << algorithm << " " << blank.target;
  }
}

TEST(Exercise, SaysWhatIsWrongWithABlock) {
  const std::string order = "question: Q?\nkind: order\n";
  const auto wrong = [](const std::string& body, const std::string& words) {
    EXPECT_THAT(problem_of(body), HasSubstr(words)) << body;
  };
  EXPECT_THAT(problem_of("kind: blanks\n"), AllOf(StartsWith("line 5: exercise: "), HasSubstr("question is missing")));
  wrong(row, "kind is missing, expected blanks, order or format");
  wrong(row + "kind: essay\n", "kind is 'essay', expected blanks, order or format");
  wrong(row + "kind: blanks\nof: thin air\nblank: l\n", "of is 'thin air', expected code, recurrence, merge or backward");
  wrong(row + "kind: blanks\nof: code\n", "blank is missing");
  wrong(code_of("flash2", "blank: x\n"), "blank is 'x', expected a name that the code of flash2 gives a value");
  wrong(code_of("flash1", "blank: α\nblank: β\n"), "one blank in a line");
  wrong(code_of("split_kv", "blank: l\n"), "split_kv");
  wrong(code_of("flash4", "blank: m\n"), "the solution of 'm' is not right");
  wrong(l_blank + "blank: l\n", "blank is 'l', expected a name, = and a right expression");
  wrong(l_blank + "blank: q = l_old\n", "'q'");
  wrong(l_blank + "blank: o = o_old\n", "the solution of 'o' is not right: At step 1");
  wrong(l_blank + "mistake: exp(s - m) + exp(m_old - m) * l_old | Swapped.\n", "is right");
  wrong(l_blank + "mistake: exp(s - m) + l_old | Again.\n", "does not show its sentence");
  wrong(l_blank + "mistake: l_old\n", "mistake is 'l_old', expected");
  wrong(l_blank + "mistake: l_new | None.\n", "'l_new' is no name");
  wrong(order + "scores: 1 2 3 4 5 6 7 8 9\n", "3 to 8 numbers");
  wrong(order + "scores: 1 2 x\n", "scores is '1 2 x', expected numbers");
  wrong(order + "scores: 1 2 3\nvalues: 1\n", "values is '1', expected as many");
  wrong(order + "scores: 1 2 3\ntolerance: much\n", "tolerance is 'much'");
  wrong(row + "kind: format\nformats: fp16\n", "expected 2 to 8 formats");
  wrong(row + "kind: format\nformats: fp16, fp17\n", "fp17");
  wrong("question: Q?\nkind: format\nscores: 1 90\npolicy: base_eager\nformats: e4m3, e5m2\n",
        "expected a format that loses no number");
}

TEST(Exercise, OrdersAreRunOneByOne) {
  const Exercise x = read("question: Q?\nkind: order\npolicy: tile\nscores: 2 0.5 -1 6 3\n");
  const Experiment e = step_experiment(x.row);
  OrderedRow most = row_in_order(e, {0, 1, 2, 3, 4});
  for (std::vector<int> order = most.order; std::ranges::next_permutation(order).found;)
    if (OrderedRow mine = row_in_order(e, order); mine.error > most.error) most = std::move(mine);
  const OrderedRow worst = worst_order(e);
  EXPECT_EQ(worst.error, most.error);
  EXPECT_EQ(worst.order, most.order);
  EXPECT_EQ(row_in_order(e, {2, 1, 0, 4, 3}).rescales, 4) << "ascending";
  EXPECT_EQ(row_in_order(e, {3, 4, 0, 1, 2}).rescales, 0) << "descending";
  EXPECT_THROW(row_in_order(e, {0, 1, 2, 3, 3}), std::invalid_argument);
  EXPECT_THROW(worst_order(e, [] { return true; }), Stopped);
  EXPECT_EQ(order_of(order_text({2, 0, 1}), 3), (std::vector<int>{2, 0, 1}));
  for (const char* const bad : {"", "0 1", "0 1 1", "0 1 3", "0 1 -1", "a b c", "0  1 2"})
    EXPECT_TRUE(order_of(bad, 3).empty()) << bad;
  EXPECT_EQ(judge_order(x, {{}, 1e-3, 1}, 4e-3).sentence,
            "This order has 1 rescale and an error of 0.001: 25.0 % of 0.004, the largest of all orders.");
}

TEST(Exercise, OrdersWithNaNHaveTheLargestError) {
  const Exercise x = read("question: Q?\nkind: order\npolicy: tile\nscores: 2 0.5 -1\n");
  Experiment e = step_experiment(x.row);
  Tensors t = *e.problem.input.tensors;
  e.problem.d_v = t.d_v = 2;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  t.v = {nan, 1, nan, 2, nan, 3};
  e.problem.input.tensors = std::make_shared<const Tensors>(std::move(t));
  const OrderedRow mine = row_in_order(e, {0, 1, 2});
  EXPECT_TRUE(std::isnan(mine.error)) << "column 1 is finite";
  EXPECT_TRUE(judge_order(x, mine, nan).right);
  EXPECT_FALSE(judge_order(x, {{}, 1e-3, 1}, nan).right);
}

/// The error of a key order equals the error of steps() on the row in this order.
TEST(Exercise, OrdersHaveTheErrorOfTheStepper) {
  const Exercise x = read("question: Q?\nkind: order\npolicy: all_tile\nscores: 2 0.5 -1 6 3\nvalues: 1 2 3 4 5\n");
  StepQuestion q = x.row;
  q.scores = {6, 0.5, 3, -1, 2};
  q.values = {4, 2, 5, 3, 1};
  const Steps run = steps(q);
  EXPECT_NEAR(row_in_order(step_experiment(x.row), {3, 1, 4, 2, 0}).error, std::fabs(run.output[0] - run.exact_output[0]),
              1e-14);
}

TEST(Exercise, FormatsAreRunAndTheLeastIsFound) {
  const Exercise x = read(
      "question: Q?\nkind: format\nalgorithm: three_pass\npolicy: base_eager\nscores: 500 490 480 460\n"
      "formats: e4m3, e5m2, fp16, bf16, fp32\n");
  EXPECT_THAT(
      judge_format(x, "e4m3").sentence,
      AllOf(StartsWith("In e4m3 4 of "), HasSubstr("overflow: the first is S = 500 of key 1, the largest number is 448.")));
  EXPECT_THAT(judge_format(x, "fp16").sentence,
              AllOf(StartsWith("In fp16 2 of "), HasSubstr("become 0: the first is P = 2.061e-09 of key 3")));
  EXPECT_TRUE(judge_format(x, "bf16").right);
  EXPECT_THAT(judge_format(x, "fp32").sentence, HasSubstr("of 32 bits. They survive in bf16 too, of 16 bits."));
  EXPECT_FALSE(judge_format(x, "fp17").right);
  EXPECT_EQ(least_formats(x), std::vector<Format>{bf16});
  const Exercise one = read(
      "question: Q?\nkind: format\nalgorithm: three_pass\npolicy: base_eager\nscores: 500 447 446 445\nformats: e4m3, bf16\n");
  EXPECT_THAT(judge_format(one, "e4m3").sentence,
              AllOf(StartsWith("In e4m3 1 of "), HasSubstr(" rounded numbers overflows: the first is S = 500 of key 1")));
}

/// The page of one exercise: the parts before and from its <details>.
std::pair<std::string, std::string> page_of(const std::string& body) {
  const auto found = [](const LessonQuestion& q) { return std::make_shared<const LessonAnswer>(answer(q, {})); };
  const std::string html = lesson_page({lesson_of("x", body)}, 0, found, [](const PageView&) { return ""; });
  const std::size_t fold = std::min(html.find("<details>"), html.size());
  return {html.substr(0, fold), html.substr(fold)};
}

TEST(Exercise, StandsOnAPageWithItsAnswerFolded) {
  const auto [open, folded] = page_of(code_of("flash2", "blank: l\n") + "explanation: E.\n");
  EXPECT_THAT(open, AllOf(HasSubstr("<p>Q?</p>"), HasSubstr("  l = ____\n"), Not(HasSubstr("α·l"))));
  EXPECT_THAT(folded, AllOf(HasSubstr("  l = α·l + P\n"), HasSubstr("<p>E.</p>")));
}

TEST(Exercise, StandsOnAPageWithItsRowAndWhatWasRun) {
  const auto [keys, order] = page_of("question: Q?\nkind: order\npolicy: tile\nscores: 0.3 4 0 6 0.5 0.2 0.1\n");
  EXPECT_THAT(keys, HasSubstr("<p>Scores: 0.3 (value 0.1429), 4 (value 0.2857), "));
  EXPECT_THAT(order, AllOf(HasSubstr("<p><strong>"), HasSubstr(": 100.0 % of "), Not(HasSubstr("<p></p>\n<p>"))));
  const auto [row_shown, formats] =
      page_of(row + "kind: format\nalgorithm: three_pass\npolicy: base_eager\nformats: e4m3, bf16, fp32\n");
  EXPECT_THAT(row_shown, HasSubstr("<p>Scores: 1 (value 0.25), "));
  EXPECT_THAT(formats, AllOf(HasSubstr("<li>All 9 rounded numbers survive in e4m3, of 8 bits. Every choice"),
                             HasSubstr("They survive in e4m3 too, of 8 bits.</li>")));
}

}  // namespace
}  // namespace attoscope
