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

/// The position of every algorithm at each tick of a shared clock: the scores taken in, then the lines done with them.
/// [tick][algorithm] is an index into its steps.
using StepClock = std::vector<std::vector<int>>;
StepClock step_clock(const std::vector<Steps>& rows);

struct RecurrenceViewState {
  std::vector<StepQuestion> asked;  ///< that `rows` answer
  std::vector<Steps> rows;          ///< one an algorithm
  StepClock clock;
  std::string problem;      ///< the reason if there are none
  std::string scores_text;  ///< the source of `scores`, with the result that their row is traced in
  std::shared_ptr<const Result> scores_result;
  std::vector<double> scores;
  std::string typed_scores;                           ///< the row as text, and what is typed in its place
  std::string refusal;                                ///< the reason why it was refused; empty: it was not
  std::string typed_score;                            ///< one of them, while it is typed
  std::string score_refusal;                          ///< as above
  bool has_lazy_max = false;                          ///< the method whose scales are stepped is a flash4
  int dragged = -1;                                   ///< score under the mouse; -1: none
  double drag_from = 0, drag_low = 0, drag_high = 0;  ///< its value, and what the picture shows meanwhile
};

/// "1 3 2 5", "1, 3, 2, 5", "random:16:7" (seed 7), "ascending:16", "descending:16", or "pinned": the first scores of the row
/// that `result` traces. Empty where the text is none of them, or there is no result: `problem` then says why.
std::vector<double> scores_of(const std::string& text, const Result* result, std::string& problem);
/// The scores as they are typed.
std::string typed(const std::vector<double>& scores);
inline constexpr int usual_scores = 16, fewest_scores = 8;
/// The largest tick that a lesson may name; one beyond the clock's end means its end.
inline constexpr int max_lesson_tick = 100000;

/// The tiles' keys unless the lesson or the reader says otherwise.
inline constexpr int usual_step_tile = 4;
/// The questions of a scene, one for each of its algorithms; if there can be none, `problem` is a sentence with the reason.
std::vector<StepQuestion> step_questions(const LessonScene& scene, RecurrenceViewState& state, std::string& problem);

/// The reason why an algorithm cannot have the question's scales, a sentence without a full stop; "": it can.
std::string why_no_scales(const StepQuestion& question, Algorithm algorithm);

/// The data that the panels draw.
struct StepperData {
  const std::vector<Steps>& rows;
  const std::vector<int>& at;  ///< each algorithm's step
  int followed;                ///< the one that is looked at closely

  const Steps& row() const { return rows[static_cast<std::size_t>(followed)]; }
  int index() const { return at[static_cast<std::size_t>(followed)]; }
  const RowStep& step() const { return row().steps[static_cast<std::size_t>(index())]; }
  /// The state before the step.
  const RowStep& before() const { return row().steps[static_cast<std::size_t>(index() > 0 ? index() - 1 : 0)]; }
};

/// Choices above the row: scores, tile, algorithms, format, policy.
void draw_step_choices(LessonScene& scene, RecurrenceViewState& state);
/// The scores as bars, the read ones, the tile on chip, m so far, and the weights; a drag changes a score, a click opens a
/// field for it. Returns a sentence if its height is impossible.
std::string draw_score_row(LessonScene& scene, RecurrenceViewState& state, const StepperData& stepped);
inline constexpr int lowest_row = 80, highest_row = 400;
/// The code, the formula with its numbers, the state before and after, the lost bits.
void draw_step_detail(LessonScene& scene, const StepperData& stepped);

/// A number, or a few, of a tensor that is stored with a scale.
struct StoredLine {
  std::string name;  ///< "k 3"
  std::vector<double> given, elements, scales, stands_for;
};
/// The numbers of such tensors that a step reads; empty if it reads none.
std::vector<StoredLine> stored_lines(const StepperData& stepped);
/// The height of their table, at scale 1.
inline constexpr float stored_height = 118;
/// The same as a table at `at`; returns where it ends.
float draw_stored(const StepperData& stepped, ImVec2 at, float width);

/// The formula of a step: with letters, with numbers, and its result.
std::vector<std::string> step_formula(const Steps& row, int index);
/// The height of one algorithm's lane, at scale 1.
inline constexpr float step_lane_height = 24;
/// The place of a step: "pass 1, tile 3".
std::string step_place(const Steps& row, int index);
/// "1.708694", always as wide; "-∞" before any score.
std::string state_number(double x);

/// `pseudo_code` of the row's algorithm with what its method does with scales.
std::vector<CodeLine> pseudo_code(const Steps& row);

}  // namespace attoscope::ui
