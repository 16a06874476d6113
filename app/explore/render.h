/// The window as a picture, without a display.
#pragma once

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

/// Views of lessons, each as a picture of its own, with what they ask computed. Throws std::runtime_error in one sentence.
std::vector<Picture> render_views(std::span<const LessonView> views, Theme theme);

}  // namespace attoscope
