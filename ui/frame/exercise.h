/// Exercises of lessons as values, and the judgement of answers by running them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/algorithm.h"
#include "kernels/questions/key_orders.h"
#include "kernels/questions/stepper.h"
#include "ui/frame/lesson.h"

namespace attoscope::ui {

/// One evaluation of a blank.
struct BlankCase {
  std::string place;           ///< "step 3 (s = 2)"
  std::vector<double> values;  ///< one for each of the blank's names
  double right = 0;            ///< correct value, from the run
};

/// A common wrong expression, and the sentence shown for it.
struct Mistake {
  std::string expression, sentence;
};

/// The missing right-hand side of "target = ...".
struct Blank {
  std::string target;
  std::string solution;              ///< a right expression
  std::string of_right;              ///< names the source of the right value: "the recurrence"
  std::vector<std::string> names{};  ///< names that may be used
  std::vector<Mistake> mistakes{};
  std::vector<BlankCase> cases{};  ///< in the order of the run
};

/// Right or wrong, and the sentence of the answer.
struct AnswerVerdict {
  bool right = false;
  std::string sentence;
};

/// A line with a blank in it, or without one.
struct ExerciseLine {
  std::string before, after{};
  int blank = -1;  ///< index of the blank; -1: none, `before` is the whole line
};

enum class ExerciseKind : std::uint8_t { blanks, order, format };

struct Exercise {
  ExerciseKind kind{};
  std::string question, explanation;
  std::vector<ExerciseLine> lines;  ///< code or equations, with the blanks
  bool is_code = false;             ///< lines of code
  std::vector<Blank> blanks;        ///< in the order of the lines
  StepQuestion row{};               ///< scores and values; for kinds order and format also the lesson's method
  std::vector<Format> formats;      ///< the choices
  double tolerance = 0;             ///< an order is right if its error is at least (1 - tolerance) times the largest
};

/// The exercise of a view. Throws std::invalid_argument with one sentence, also if a solution is wrong or a mistake is right.
Exercise exercise_of(const LessonView& view);

/// The text with a capital at its beginning and a full stop at its end.
std::string as_sentence(std::string text);

/// Key of a blank's answer in a session, or of an exercise's only answer: "answer", "answer2".
std::string answer_key(std::size_t blank);

/// Evaluates an expression in every case of a blank. The verdict names the first case that differs from the run, with both
/// numbers, and adds the sentence of the mistake that has the same value in every case.
AnswerVerdict judge_blank(const Blank& blank, std::string_view answer);

/// Asks for the largest error over all orders of an exercise's keys; the answer has one axis with one value, the order.
LessonQuestion order_question(const Exercise& exercise);
inline constexpr std::string_view order_measure = "order.largest";
/// Keys as text, "2 0 1", and back; empty if the text does not name each of `keys` keys once.
std::string order_text(const std::vector<int>& order);
std::vector<int> order_of(std::string_view text, std::size_t keys);
/// Compares an order's error with the largest.
AnswerVerdict judge_order(const Exercise& exercise, const OrderedRow& mine, double largest);

/// Runs the row in the format named `answer`. The verdict on a wrong one names the numbers that it loses, or a format of fewer
/// bits that loses none.
AnswerVerdict judge_format(const Exercise& exercise, std::string_view answer);
/// Formats with the fewest bits that lose no number.
std::vector<Format> least_formats(const Exercise& exercise);

struct CodeLine {
  std::string text;                ///< with its indent
  std::optional<StepKind> kind{};  ///< its step; none: a line of the loop
  int pass = -1;                   ///< index of the loop over the scores
};
/// Copies the algorithm's pseudo-code; empty if the algorithm has none.
inline std::vector<CodeLine> pseudo_code(Algorithm algorithm) {
  std::vector<CodeLine> lines;
  for (const AlgorithmLine& line : info(algorithm).code) lines.push_back({std::string(line.text), line.kind, line.pass});
  return lines;
}

}  // namespace attoscope::ui
