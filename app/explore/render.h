/// The window as a picture, without a display.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/files/png.h"
#include "kernels/experiment/result.h"
#include "ui/frame/lesson.h"
#include "ui/session/session.h"

namespace attoscope {

/// A picture of the window.
struct Shot {
  std::string file{};  ///< PNG
  int width = 1600, height = 1000;
  std::string example_file{};  ///< the shipped tensors; empty: none
};

/// Draws the session with its answer (null: none yet) and writes the picture beside its place, then renames it. Throws
/// std::runtime_error in one sentence.
void render(Session session, std::shared_ptr<const Result> result, const Shot& shot);

/// The same, with the answer computed first. Loads the input's tensors.
void render(Session session, const Shot& shot);

/// Finds the answer to a question of a lesson, which may be remembered.
using AnswerLesson = std::function<LessonAnswerPtr(const LessonQuestion&)>;

/// A view for a page without a program, where nothing can be pressed.
struct PageView {
  LessonView view;
  int part = 1;         ///< of `page_parts`: how far a stepper has come
  bool narrow = false;  ///< drawn for the width of a phone
};
struct PagePicture {
  Picture picture;
  std::string said;  ///< the line that the view says about itself; may be empty
};

/// Each view as a picture of its own, no control in it. Throws std::runtime_error in one sentence.
std::vector<PagePicture> render_views(std::span<const PageView> views, Theme theme, const AnswerLesson& answer);

}  // namespace attoscope
