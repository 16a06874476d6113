/// The window as a picture, without a display.
#pragma once

#include <memory>
#include <string>

#include "kernels/experiment/result.h"
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

}  // namespace attoscope
