// Exercises of the lessons: every kind occurs, each has a single solution, and each answer has its own sentence.

#include <algorithm>
#include <numeric>
#include <set>

#include "app/explore/lessons.h"
#include "tests/app/lesson_prose.h"
#include "tests/support/matchers.h"
#include "ui/frame/exercise.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// Calls visit(lesson, exercise) for every exercise of the lessons; failures name lesson and line.
template <class Visit>
void each_exercise(Visit visit) {
  for (const Lesson& lesson : shipped_lessons())
    for (const LessonView& view : views_of(lesson)) {
      if (view.kind != LessonViewKind::exercise) continue;
      SCOPED_TRACE(lesson.name + ", line " + std::to_string(view.line));
      ASSERT_THAT(view.problem, IsEmpty());
      visit(lesson, exercise_of(view));
    }
}

TEST(LessonExercises, AreOfEveryKind) {
  std::set<std::string> seen;
  each_exercise([&](const Lesson& lesson, const Exercise& x) {
    const char* const kind = x.kind == ExerciseKind::order    ? "order"
                             : x.kind == ExerciseKind::format ? "format"
                             : x.is_code                      ? "code"
                                                              : "equation";
    seen.insert(lesson.name.substr(0, 2) + " " + kind);
  });
  EXPECT_THAT(seen, ::testing::IsSupersetOf({"02 format", "03 code", "04 equation", "05 code", "05 equation", "06 equation",
                                             "08 order", "15 equation"}));
}

TEST(LessonExercises, BlanksAreFilledByTheSolutionAlone) {
  each_exercise([](const Lesson&, const Exercise& x) {
    EXPECT_FALSE(x.explanation.empty());
    for (const Blank& blank : x.blanks) {
      const AnswerVerdict solved = judge_blank(blank, blank.solution);
      EXPECT_TRUE(solved.right) << solved.sentence;
      EXPECT_GE(blank.mistakes.size(), 2u) << blank.target;
      for (const Mistake& m : blank.mistakes) {
        const AnswerVerdict wrong = judge_blank(blank, m.expression);
        EXPECT_FALSE(wrong.right) << m.expression;
        EXPECT_THAT(wrong.sentence, AllOf(HasSubstr(" yours gives " + blank.target + " = "), EndsWith(". " + m.sentence)));
        // another expression of the same value is the same mistake
        EXPECT_EQ(judge_blank(blank, "0 + (" + m.expression + ")*1").sentence, wrong.sentence);
      }
      const AnswerVerdict other = judge_blank(blank, "(" + blank.solution + ") + 1/3");
      EXPECT_FALSE(other.right);
      for (const Mistake& m : blank.mistakes) EXPECT_THAT(other.sentence, Not(HasSubstr(m.sentence)));
    }
  });
}

TEST(LessonExercises, OrdersAreWorthFinding) {
  each_exercise([](const Lesson&, const Exercise& x) {
    if (x.kind != ExerciseKind::order) return;
    const LessonAnswer worst = answer(order_question(x), {});
    ASSERT_EQ(worst.table.cells.size(), 1u) << worst.problem;
    const Experiment row = step_experiment(x.row);
    const std::vector<int> found = order_of(worst.table.axes.at(0).names.at(0), x.row.scores.size());
    EXPECT_TRUE(judge_order(x, row_in_order(row, found), worst.number()).right);
    std::vector<int> order(x.row.scores.size());
    std::iota(order.begin(), order.end(), 0);
    EXPECT_FALSE(judge_order(x, row_in_order(row, order), worst.number()).right) << "the given order is already a solution";
    int right = 0, all = 0;
    do {
      const OrderedRow mine = row_in_order(row, order);
      EXPECT_LE(mine.error, worst.number()) << order_text(order);
      right += judge_order(x, mine, worst.number()).right ? 1 : 0;
      ++all;
    } while (std::ranges::next_permutation(order).found);
    EXPECT_LT(right, all / 4) << "too many orders solve it";
  });
}

TEST(LessonExercises, OneFormatSurvivesWithTheFewestBits) {
  each_exercise([](const Lesson&, const Exercise& x) {
    if (x.kind != ExerciseKind::format) return;
    int right = 0;
    std::set<std::string> said;
    for (const Format& f : x.formats) {
      const AnswerVerdict v = judge_format(x, name(f));
      right += v.right ? 1 : 0;
      said.insert(v.sentence);
    }
    EXPECT_EQ(right, 1);
    EXPECT_EQ(said.size(), x.formats.size()) << "each answer has its own sentence";
  });
}

}  // namespace
}  // namespace attoscope
