/// The lessons as static pages: text, formulas, live numbers and pictures of the views, without scripts and without a network.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "app/files/png.h"
#include "ui/frame/lesson.h"
#include "ui/session/session.h"

namespace attoscope {

/// Finds the answer to a question of a lesson, which may be remembered.
using AnswerLesson = std::function<LessonAnswerPtr(const LessonQuestion&)>;

/// The page of the `index`-th lesson. Pictures are called `view_picture_name`. Throws std::invalid_argument in a sentence where
/// a formula cannot be written.
std::string lesson_page(const Lessons& lessons, std::size_t index, const AnswerLesson& answer);
/// The list of all lessons.
std::string lessons_index(const Lessons& lessons);
/// "06-tiles-3-dark.png"
std::string view_picture_name(const Lesson& lesson, const LessonView& view, Theme theme);
/// True if a page shows the view as a picture; a quiz is text.
bool is_drawn(const LessonView& view);

/// Writes all pages and pictures into a directory, which it makes; says on `out` how far it is. Throws std::runtime_error in a
/// sentence.
void write_lesson_pages(const std::string& directory, std::ostream& out);

}  // namespace attoscope
