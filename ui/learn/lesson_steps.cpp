#include "ui/learn/lesson_steps.h"

#include <algorithm>

namespace attoscope {

namespace {

/// Scale of the type while a lesson is presented.
constexpr double presenting_scale = 1.5;

int steps_in(const Lesson& lesson) { return static_cast<int>(lesson.steps.size()); }

}  // namespace

LessonPlace place_of(const LessonState& state, const Lessons* lessons) {
  if (lessons == nullptr || lessons->empty()) return {};
  const auto found = std::ranges::find(*lessons, state.name, &Lesson::name);
  if (found == lessons->end()) return {.lesson = &lessons->front()};
  return {&*found, static_cast<int>(found - lessons->begin()), std::clamp(state.step, 0, steps_in(*found) - 1)};
}

const LessonStep& step_of(const LessonPlace& place) { return place.lesson->steps[static_cast<std::size_t>(place.step)]; }

void open_lesson(LessonState& state, const Lesson& lesson, int step) {
  state.name = lesson.name;
  state.step = std::clamp(step, 0, steps_in(lesson) - 1);
}

void turn_page(LessonState& state, const Lessons* lessons, int by) {
  LessonPlace p = place_of(state, lessons);
  if (p.lesson == nullptr) return;
  const int last = static_cast<int>(lessons->size()) - 1;
  p.step += by;
  if (p.step < 0 && p.index > 0) {
    p.lesson = &(*lessons)[static_cast<std::size_t>(p.index - 1)];
    p.step = steps_in(*p.lesson) - 1;
  } else if (p.step >= steps_in(*p.lesson) && p.index < last) {
    p.lesson = &(*lessons)[static_cast<std::size_t>(p.index + 1)];
    p.step = 0;
  }
  open_lesson(state, *p.lesson, p.step);
}

void turn_to_end(LessonState& state, const Lessons* lessons, bool last) {
  const LessonPlace p = place_of(state, lessons);
  if (p.lesson != nullptr) open_lesson(state, *p.lesson, last ? steps_in(*p.lesson) - 1 : 0);
}

int steps_seen(const LessonState& state, const Lesson& lesson) {
  const auto found = std::ranges::find(state.progress, lesson.name, &LessonProgress::lesson);
  return found == state.progress.end() ? 0 : std::min(found->steps_seen, steps_in(lesson));
}

void see_step(LessonState& state, const LessonPlace& place) {
  const auto found = std::ranges::find(state.progress, place.lesson->name, &LessonProgress::lesson);
  if (found == state.progress.end())
    state.progress.push_back({place.lesson->name, place.step + 1});
  else
    found->steps_seen = std::max(found->steps_seen, place.step + 1);
}

bool is_presenting(const Session& session) { return session.view.workspace == Workspace::learn && session.lesson.presenting; }

double shown_scale(const Session& session) { return session.view.ui_scale * (is_presenting(session) ? presenting_scale : 1); }

}  // namespace attoscope
