/// The open lesson and step of a session, how pages are turned, and the numbers of their text.
#pragma once

#include "ui/frame/lesson.h"

namespace attoscope::ui {

/// The open lesson and its step, clamped to those that exist.
struct LessonPlace {
  const Lesson* lesson = nullptr;  ///< null: there are no lessons
  int index = 0;                   ///< index of the lesson
  int step = 0;
};
LessonPlace place_of(const LessonState& state, const Lessons* lessons);
const LessonStep& step_of(const LessonPlace& place);

/// Opens a lesson at a step.
void open_lesson(LessonState& state, const Lesson& lesson, int step = 0);
/// Turns that many steps forward, or back, across lessons; stops at the first and the last.
void turn_page(LessonState& state, const Lessons* lessons, int by);
/// The first or the last step of the open lesson.
void turn_to_end(LessonState& state, const Lessons* lessons, bool last);

/// The number of steps of the lesson that were on screen.
int steps_seen(const LessonState& state, const Lesson& lesson);
/// Records that the step was on screen.
void see_step(LessonState& state, const LessonPlace& place);

/// The value with as many digits as `written` has, in its notation, with its sign and unit: "1.62e-3", "+0.25", "3.0×", "12 %",
/// "1.5 MB" (of a value in bytes).
std::string live_text(std::string_view written, double value);

/// The scale of type and controls in a window of this size, in pixels: larger while a lesson is presented.
double shown_scale(const Session& session, double width, double height);
/// True while a lesson fills the window.
bool is_presenting(const Session& session);

}  // namespace attoscope::ui
