/// Exercises of lessons as values, and answers to them, run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/questions/key_orders.h"
#include "kernels/questions/stepper.h"
#include "ui/frame/lesson.h"

namespace attoscope {

/// A place at which a blank is filled.
struct BlankCase {
  std::string place;           ///< "step 3 (s = 2)"
  std::vector<double> values;  ///< one for each of the blank's names
  double right = 0;            ///< value that the run has there
};

/// An expression that readers often write, and the sentence that belongs to it.
struct Mistake {
  std::string expression, sentence;
};

/// The right-hand side that is left out of "target = ...".
struct Blank {
  std::string target;
  std::string solution;              ///< a right expression
  std::string truth;                 ///< subject of the right value: "the recurrence"
  std::vector<std::string> names{};  ///< names that may be used
  std::vector<Mistake> mistakes{};
  std::vector<BlankCase> cases{};  ///< in the order of the run
};

/// Right or wrong, and the sentence that belongs to the answer.
struct AnswerVerdict {
  bool right = false;
  std::string sentence;

  friend bool operator==(const AnswerVerdict&, const AnswerVerdict&) = default;
};

/// A line with a blank in it, or without one.
struct ExerciseLine {
  std::string before, after{};
  int blank = -1;  ///< which; -1: none, and the line is `before`
};

enum class ExerciseKind : std::uint8_t { blanks, order, format };

struct Exercise {
  ExerciseKind kind{};
  std::string question, explanation;
  std::vector<ExerciseLine> lines;  ///< code or equations, with the blanks
  bool is_code = false;             ///< they are an algorithm's
  std::vector<Blank> blanks;        ///< in the order of the lines
  StepQuestion row{};               ///< the scores and values; of orders and formats with the lesson's method
  std::vector<Format> formats;      ///< the choices
  double tolerance = 0;             ///< share by which an order's error may stay under the largest
};

/// The exercise that a view describes. Throws std::invalid_argument in one sentence; also where a solution is not right, or a
/// mistake is.
Exercise exercise_of(const LessonView& view);

/// The key under which a session keeps the answer to a blank, or the one answer of another exercise: "answer", "answer2".
std::string answer_key(std::size_t blank);

/// Runs an expression at every place of a blank: the first place where it parts from the run, with both numbers, and the
/// sentence of the mistake that has the same values everywhere.
AnswerVerdict judge_blank(const Blank& blank, std::string_view answer);

/// The question whose answer is the largest error of all orders of an exercise's keys: its only point; the order is the only
/// value of its only axis.
LessonQuestion order_question(const Exercise& exercise);
inline constexpr std::string_view order_measure = "order.largest";
/// Keys as they are kept: "2 0 1", and back; empty where the text does not name each of `keys` keys once.
std::string order_text(const std::vector<int>& order);
std::vector<int> order_of(std::string_view text, std::size_t keys);
/// Compares an order's error with the largest.
AnswerVerdict judge_order(const Exercise& exercise, const OrderedRow& mine, double largest);

/// Runs the row in a format, by its name: the numbers that it loses, or a format of fewer bits that loses none.
AnswerVerdict judge_format(const Exercise& exercise, std::string_view answer);
/// The formats with the fewest bits in which no number is lost.
std::vector<Format> least_formats(const Exercise& exercise);

}  // namespace attoscope
