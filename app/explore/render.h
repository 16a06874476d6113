/// The window as a picture, without a display.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "app/files/png.h"
#include "ui/frame/lesson.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// A picture of the window to write.
struct WindowPicture {
  std::string file{};  ///< path of the PNG
  int width = 1600, height = 1000;
  std::string example_file{};  ///< path of the shipped tensors; empty: none
};

/// Reads the session's tensors, computes its answer, draws both and writes a PNG: to a temporary file first, then renamed.
/// Throws std::runtime_error with one sentence.
void render(ui::Session session, const WindowPicture& shot);

/// Returns the answer to a lesson's question, possibly cached.
using AnswerLesson = std::function<ui::LessonAnswerPtr(const ui::LessonQuestion&)>;

/// A view for a static page, without controls.
struct PageView {
  ui::LessonView view;
  int part = 1;         ///< 1 .. `page_parts`: progress of a stepper
  bool narrow = false;  ///< in the width of a phone
};
struct PagePicture {
  Picture picture;
  std::string summary;  ///< line of text in the view; may be empty
};

/// Each view as a picture without controls. Throws std::runtime_error with one sentence.
std::vector<PagePicture> render_views(std::span<const PageView> views, ui::Theme theme, const AnswerLesson& answer);

}  // namespace attoscope::app
