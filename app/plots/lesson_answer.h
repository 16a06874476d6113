/// Answers to the questions of lessons.
#pragma once

#include "kernels/compute.h"
#include "ui/frame/lesson.h"

namespace attoscope {

/// Computes the answer; a failure goes to its `problem`. Throws Stopped.
LessonAnswer answer(const LessonQuestion& question, const Options& options);

}  // namespace attoscope
