/// A lesson as a value: steps of Markdown and live views, their questions, and the reader's changes.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/result.h"
#include "ui/frame/sweep_answer.h"
#include "ui/session/session.h"

namespace attoscope::ui {

/// The languages of fenced blocks that are live views.
enum class LessonViewKind : std::uint8_t { recurrence, code, bits, heatmap, policy, plot, quiz, sum, exercise };
struct LessonScene;
/// Draws a view and returns an error sentence about its parameters, or "". Each is in its file of ui/learn/views.
using DrawLessonView = std::string(LessonScene& scene);
DrawLessonView draw_recurrence_view, draw_code_view, draw_bits_view, draw_heatmap_view, draw_policy_view, draw_plot_view,
    draw_quiz_view, draw_sum_view, draw_exercise_view;
struct LessonViewInfo {
  LessonViewKind kind;
  std::string_view name;  ///< the language
  DrawLessonView* draw;
  std::string_view own_keys;   ///< a blank before and after each; other keys are the experiment's (`attoscope sweep --vary`)
  std::string_view caption{};  ///< a sentence below it on pages; "": made from its keys, in lesson_captions.cpp
};
inline constexpr auto lesson_views = std::to_array<LessonViewInfo>({
    {LessonViewKind::recurrence, "recurrence", draw_recurrence_view, " scores values algorithms columns follow height at "},
    {LessonViewKind::code, "code", draw_code_view, " at "},
    {LessonViewKind::bits, "bits", draw_bits_view, " value format formats show height storage numbers outlier head "},
    {LessonViewKind::heatmap, "heatmap", draw_heatmap_view, " field tensor controls height "},
    {LessonViewKind::policy, "policy", draw_policy_view, " controls height tile hidden ",
     "The list says where both methods round, and the plots show the row sum and the error of one row."},
    {LessonViewKind::plot, "plot", draw_plot_view,
     " kind vary vary2 measure seeds over controls height memory formats value from to tile hidden at "},
    {LessonViewKind::quiz, "quiz", draw_quiz_view, " question vary measure best ask equals seeds tolerance explanation answer ",
     "The question has several answers."},
    {LessonViewKind::sum, "sum", draw_sum_view, " gpu format result a b c block "},
    {LessonViewKind::exercise, "exercise", draw_exercise_view,
     " question kind of scores values blank mistake formats answer answer2 answer3 answer4 tolerance explanation ",
     "The question has several answers."},
});
static_assert(is_in_order(lesson_views, &LessonViewInfo::kind));
constexpr const LessonViewInfo& info(LessonViewKind k) { return lesson_views[static_cast<std::size_t>(k)]; }
constexpr std::string_view name(LessonViewKind k) { return info(k).name; }
/// True if the view is a question to the reader; it is part of the text, and pages show it as text.
constexpr bool is_question(LessonViewKind k) { return k == LessonViewKind::quiz || k == LessonViewKind::exercise; }
/// True if the key belongs to views of this kind, not to the experiment.
bool is_own_key(LessonViewKind kind, std::string_view key);

/// A live view as written.
struct LessonView {
  LessonViewKind kind{};
  std::vector<LessonParameter> parameters;  ///< in the order written; a second `vary` is called vary2, an exercise may have
                                            ///< several `blank` and `mistake`
  int line = 0;                             ///< line of the opening fence in the file
  int index = 0;                            ///< index of the view in the lesson, from 0, its name in a session
  Experiment experiment{};                  ///< from the experiment keys; set when the lessons are loaded
  std::string problem;                      ///< one sentence on an error in it, or empty
};

/// A question of a page: asks for the answer to an experiment; given a measure, for one number of the answer; given `vary`
/// ("block_k=16:1024:x2", one or two), for that number at every point of a sweep.
struct LessonQuestion {
  Experiment experiment{};
  std::string measure{};  ///< "ratio.mean_abs", as in `attoscope sweep --measure`; empty: the whole answer
  std::vector<std::string> vary{};
  int seeds = 1;

  friend bool operator==(const LessonQuestion&, const LessonQuestion&) = default;
};

struct LessonAnswer {
  LessonQuestion question;
  std::shared_ptr<const Result> result{};  ///< null if the question has a measure
  SweepTable table{};                      ///< numbers of the measure; one cell if nothing is varied
  std::string problem{};                   ///< one sentence why there is no answer, or empty

  double number() const { return table.cells.empty() ? std::nan("") : table.cells[0].mean; }  ///< mean of the first cell
};
using LessonAnswerPtr = std::shared_ptr<const LessonAnswer>;
using LessonAnswers = std::vector<LessonAnswerPtr>;
/// Finds the answer to a question; null: no answer yet.
LessonAnswerPtr answer_of(const LessonAnswers* answers, const LessonQuestion& question);

/// A live number of the text: `[written](live:measure?key=value&key=value)`.
struct LessonNumber {
  std::string target, written;
  LessonQuestion question{};  ///< set when the lessons are loaded
  std::string problem;        ///< one sentence on an error in it, or empty
  int line = 0;
};

/// A run of Markdown, or a view if there is one.
struct LessonBlock {
  std::string markdown;
  std::vector<LessonNumber> numbers;  ///< in the order of the text
  std::vector<LessonView> view;       ///< none or one
  int line = 0;
};

/// One page of the presenter.
struct LessonStep {
  std::string title;
  std::vector<LessonBlock> blocks;
};

struct Lesson {
  std::string name;  ///< file name without .md: "04-online-normaliser"
  std::string title;
  std::string needs;              ///< "Needs lesson 2. Takes 20 minutes.", or empty
  std::vector<LessonStep> steps;  ///< at least one
};
using Lessons = std::vector<Lesson>;

/// Parses a lesson: `# Title`, an optional line that begins with "Needs ", then steps that begin with `## `. An unusable part
/// is replaced by a sentence; nothing throws.
Lesson parse_lesson(std::string name, std::string_view text);

/// The experiment of a view before its keys: n 256, d 64, bf16, `hw` against `base_eager`.
Experiment lesson_experiment();

/// The words of a text between blanks and commas, or other separators.
std::vector<std::string> listed_words(std::string_view text, std::string_view separators = " ,");
/// The text without blanks at its ends.
std::string_view trimmed(std::string_view text);
/// The value of a key as written; empty: the view does not have the key.
std::string_view written(const LessonView& view, std::string_view key);

}  // namespace attoscope::ui
