// The live view `recurrence`: the stepper.
#include <algorithm>
#include <exception>

#include "ui/learn/stepper.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

constexpr double seconds_a_tick = 1 / 3.0;

/// Brings the steps up to date with what is asked; all of them are found at once, in far less than a frame.
void refresh(RecurrenceViewMemory& memory, std::vector<StepQuestion> questions) {
  if (questions == memory.asked) return;
  memory.rows.clear();
  memory.problem.clear();
  memory.asked = std::move(questions);
  try {
    for (const StepQuestion& q : memory.asked) memory.rows.push_back(steps(q));
  } catch (const std::exception& error) {
    memory.rows.clear();
    memory.problem = error.what();
  }
  memory.clock = step_clock(memory.rows);
  memory.typed_scores = typed(memory.asked.front().scores);
}

/// The algorithm that is looked at closely: the one that was chosen, else the last.
int followed(const LessonScene& scene, const RecurrenceViewMemory& memory) {
  const std::string chosen = value_of(scene, "follow");
  const auto found = std::ranges::find_if(memory.asked, [&](const StepQuestion& q) { return name(q.algorithm) == chosen; });
  return static_cast<int>(found == memory.asked.end() ? memory.asked.size() - 1
                                                      : static_cast<std::size_t>(found - memory.asked.begin()));
}

/// Takes the tick that is due; the last one stops it.
void play(LessonScene& scene, RecurrenceViewMemory& memory, int tick) {
  if (!memory.playing) return;
  scene.wishes.animate = true;
  if (tick + 1 >= static_cast<int>(memory.clock.size())) {
    memory.playing = false;
  } else if (const double now = ImGui::GetTime(); now >= memory.next_tick + seconds_a_tick) {
    memory.next_tick = now;
    change(scene, "at", std::to_string(tick + 1));
  }
}

}  // namespace

std::string draw_recurrence_view(LessonScene& scene) {
  if (!scene.memory.recurrence) scene.memory.recurrence = std::make_shared<RecurrenceViewMemory>();
  RecurrenceViewMemory& memory = *scene.memory.recurrence;
  std::string problem;
  std::vector<StepQuestion> questions = step_questions(scene, memory, problem);
  const int at = whole_of(scene, "at", 0, 0, max_lesson_tick, problem);
  if (!problem.empty()) return problem;
  refresh(memory, std::move(questions));
  if (memory.rows.empty()) return memory.problem;
  const int tick = std::min(at, static_cast<int>(memory.clock.size()) - 1);
  const Stepped stepped{memory.rows, memory.clock[static_cast<std::size_t>(tick)], followed(scene, memory)};
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(8), px(8)});
  draw_step_choices(scene, memory);
  problem = draw_score_row(scene, memory, stepped);
  draw_step_transport(scene, memory, stepped, tick);
  draw_step_lanes(scene, stepped);
  draw_step_detail(scene, stepped);
  ImGui::PopStyleVar();
  play(scene, memory, tick);
  return problem;
}

}  // namespace attoscope
