/// Lessons as static pages: text, formulas, pictures of views without controls, and numbers with links to their settings. Their
/// optional script runs a step if the window for a browser is served with them.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "app/explore/render.h"
#include "kernels/compute.h"
#include "ui/frame/lesson.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// Returns the line of text in a view's picture; empty: none.
using SummaryOfView = std::function<std::string(const PageView&)>;

/// HTML of paragraphs, lists, tables, headings, fenced code, emphasis, code, links and formulas. Omits lines that begin with ">
/// ", which are about the window's controls. `number(i)` returns the HTML of the live number `<numI/>`. Throws
/// std::invalid_argument with one sentence on an unknown formula.
std::string html_of(std::string_view markdown, const std::function<std::string(int)>& number);

/// The page of lesson `index`; its pictures have the names of `view_picture_name`. Throws std::invalid_argument with one
/// sentence on an unknown formula.
std::string lesson_page(const ui::Lessons& lessons, std::size_t index, const AnswerLesson& answer,
                        const SummaryOfView& summary);
/// The list of all lessons.
std::string lessons_index(const ui::Lessons& lessons);
/// Pictures of a view: one for each page width, or several steps of a stepper; none for a quiz or an exercise, which are text.
std::vector<PageView> pictures_of(const ui::LessonView& view);
/// "06-tiles-3-dark.png", "06-tiles-3-narrow-dark.png", "06-tiles-4-step2-dark.png"
std::string view_picture_name(const ui::Lesson& lesson, const PageView& view, ui::Theme theme);

/// "The plot shows mean |error|, a over block_k. Here n is 1024 and policy is eager."
std::string caption_of(const ui::LessonView& view);

/// The caption and the picture's line of text, as a description for users who cannot see it.
std::string description_of(const ui::LessonView& view, const std::string& summary);

/// The session that computes a lesson's number: in Explore, in Train for a number of a training, or in Model, with the random
/// weights and tokens, for a number of a model. Reads tensors' shapes.
ui::Session session_of(const ui::LessonQuestion& question);

/// Writes all pages and pictures into a directory, which it creates, with progress on `out`. Throws std::runtime_error with one
/// sentence, and Stopped if cancelled, which leaves nothing.
void write_lesson_pages(const std::string& directory, std::ostream& out, const Cancelled& cancelled = {});

}  // namespace attoscope::app
