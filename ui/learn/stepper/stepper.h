/// The stepper: a row of scores, followed step by step by one to four algorithms at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "imgui.h"
#include "kernels/questions/stepper.h"
#include "ui/frame/exercise.h"  // IWYU pragma: export
#include "ui/learn/views/views.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

/// The step of every algorithm at each tick of a shared clock: the clock advances by the scores read, then by lines of code.
/// [tick][algorithm] is an index into the algorithm's steps.
using StepClock = std::vector<std::vector<int>>;
StepClock step_clock(const std::vector<Steps>& rows);

struct RecurrenceViewState {
  std::vector<StepQuestion> asked;  ///< the questions of `rows`
  std::vector<Steps> rows;          ///< one for each algorithm
  StepClock clock;
  std::string problem;      ///< the reason if there are no rows
  std::string scores_text;  ///< the text of `scores`, and the result that has their traced row
  std::shared_ptr<const Result> scores_result;
  std::vector<double> scores;
  std::string typed_scores;                           ///< the row as text, also while it is edited
  std::string refusal;                                ///< the reason why the typed row was refused; empty: it was not
  std::string typed_score;                            ///< one score, while it is typed
  std::string score_refusal;                          ///< the reason why that score was refused
  bool has_lazy_max = false;                          ///< the method whose scales are stepped is flash4
  int dragged = -1;                                   ///< score under the mouse; -1: none
  double drag_from = 0, drag_low = 0, drag_high = 0;  ///< its first value, and the picture's range during the drag
};

/// The text of a scene's scores, as `scores_of` reads it; some random ones if neither the reader nor the lesson gives any.
std::string scores_text(const LessonScene& scene);
/// "1 3 2 5", "1, 3, 2, 5", "random:16:7" (seed 7), "ascending:16", "descending:16", or "pinned": the first scores of the row
/// that `result` traces. Empty on an error: another text, or no result; `problem` is then the reason.
std::vector<double> scores_of(const std::string& text, const Result* result, std::string& problem);
/// The scores as they are typed.
std::string typed(const std::vector<double>& scores);
inline constexpr int usual_scores = 16, fewest_scores = 8;
inline constexpr int max_step_seed = 999999999;  ///< of random scores
/// The largest tick that a lesson may name; one beyond the clock's end means its end.
inline constexpr int max_lesson_tick = 100000;

/// Keys of a tile, unless the lesson or the reader sets them.
inline constexpr int usual_step_tile = 4;
/// The questions of a scene, one for each of its algorithms; if there can be none, `problem` is a sentence with the reason.
std::vector<StepQuestion> step_questions(const LessonScene& scene, RecurrenceViewState& state, std::string& problem);

/// The reason why an algorithm cannot have the question's scales, a sentence without a full stop; "": it can.
std::string why_no_scales(const StepQuestion& question, Algorithm algorithm);

/// The data that the panels draw.
struct StepperData {
  const std::vector<Steps>& rows;
  const std::vector<int>& at;  ///< each algorithm's step
  int followed;                ///< the algorithm shown in detail

  const Steps& row() const { return rows[static_cast<std::size_t>(followed)]; }
  int index() const { return at[static_cast<std::size_t>(followed)]; }
  const RowStep& step() const { return row().steps[static_cast<std::size_t>(index())]; }
  /// The state before the step.
  const RowStep& before() const { return row().steps[static_cast<std::size_t>(index() > 0 ? index() - 1 : 0)]; }
};

/// Choices above the row: scores, tile, algorithms, format, policy.
void draw_step_choices(LessonScene& scene, RecurrenceViewState& state);
/// Draws the scores as bars, with those read so far, the tile on chip, m so far, and the weights; a drag changes a score, a
/// click opens a field for it. Returns a sentence if the height is invalid.
std::string draw_score_row(LessonScene& scene, RecurrenceViewState& state, const StepperData& stepped);
inline constexpr int lowest_row = 80, highest_row = 400;
/// Draws the code, the formula with its numbers, the state before and after, the lost bits.
void draw_step_detail(LessonScene& scene, const StepperData& stepped);

/// A number, or a few, of a tensor that is stored with a scale.
struct StoredLine {
  std::string name;  ///< "k 3"
  std::vector<double> given, elements, scales, stands_for;
};
/// The numbers of tensors stored with a scale that a step reads; empty if it reads none.
std::vector<StoredLine> stored_lines(const StepperData& stepped);
/// The height of their table, at scale 1.
inline constexpr float stored_height = 118;
/// Draws the stored numbers as a table at `at`; returns the table's lower end.
float draw_stored(const StepperData& stepped, ImVec2 at, float width);

/// The formula of a step: with letters, with numbers, and its result.
std::vector<std::string> step_formula(const Steps& row, int index);
/// The height of one algorithm's lane, at scale 1.
inline constexpr float step_lane_height = 24;
/// The place of a step: "pass 1, tile 3".
std::string step_place(const Steps& row, int index);
/// "1.708694", always of the same width; "-∞" before any score.
std::string state_number(double x);

/// `pseudo_code` of the row's algorithm, with the lines that its method's scales add or change.
std::vector<CodeLine> pseudo_code(const Steps& row);

}  // namespace attoscope::ui
