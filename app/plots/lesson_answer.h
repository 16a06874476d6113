/// Answers to the questions of lessons.
#pragma once

#include "kernels/compute.h"
#include "ui/frame/lesson.h"

namespace attoscope::app {

/// Computes the answer; a failure goes to its `problem`. Throws Stopped.
ui::LessonAnswer answer(const ui::LessonQuestion& question, const Options& options);

}  // namespace attoscope::app
