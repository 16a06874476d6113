// The live view `recurrence`: the stepper.
#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "kernels/experiment/text.h"
#include "ui/learn/stepper/stepper.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

/// Computes all steps again if the questions changed; this takes far less than a frame.
void refresh(RecurrenceViewState& state, std::vector<StepQuestion> questions) {
  if (questions == state.asked) return;
  state.rows.clear();
  state.problem.clear();
  state.asked = std::move(questions);
  try {
    for (const StepQuestion& q : state.asked) state.rows.push_back(steps(q));
  } catch (const std::exception& error) {
    state.rows.clear();
    state.problem = error.what();
  }
  state.clock = step_clock(state.rows);
  state.typed_scores = typed(state.asked.front().scores);
  state.refusal.clear();
}

/// The followed algorithm: the chosen one, else the last.
int followed(const LessonScene& scene, const RecurrenceViewState& state) {
  const std::string chosen = value_of(scene, "follow");
  const auto found = std::ranges::find_if(state.asked, [&](const StepQuestion& q) { return name(q.algorithm) == chosen; });
  return static_cast<int>(found == state.asked.end() ? state.asked.size() - 1
                                                     : static_cast<std::size_t>(found - state.asked.begin()));
}

}  // namespace

std::string draw_recurrence_view(LessonScene& scene) {
  auto& state = own_state<RecurrenceViewState>(scene);
  std::string problem;
  std::vector<StepQuestion> questions = step_questions(scene, state, problem);
  const int at = whole_of(scene, "at", 0, 0, max_lesson_tick, problem);
  if (!problem.empty()) return problem;
  refresh(state, std::move(questions));
  if (state.rows.empty()) return state.problem;
  const int last = static_cast<int>(state.clock.size()) - 1, shown = shown_step(scene, at, last),
            start = std::clamp(to_number<int>(written(scene.view, "at")).value_or(0), 0, last),
            tick = ui::stepped(scene, shown, start, last);
  if (tick != shown) change(scene, "at", std::to_string(tick));
  const StepperData stepped{state.rows, state.clock[static_cast<std::size_t>(tick)], followed(scene, state)};
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(8), px(8)});
  scene.state.summary = fmt::format("Step {} of {}: {}, {}.", tick, last, name(stepped.row().question.algorithm),
                                    step_place(stepped.row(), stepped.index()));
  if (!is_on_page(scene)) draw_step_choices(scene, state);
  problem = draw_score_row(scene, state, stepped);
  if (!is_on_page(scene)) draw_step_transport(scene, stepped, tick, last);
  if (const std::string unknown = draw_step_lanes(scene, stepped); problem.empty()) problem = unknown;
  draw_step_detail(scene, stepped);
  ImGui::PopStyleVar();
  return problem;
}

}  // namespace attoscope::ui
