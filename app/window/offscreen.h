/// OpenGL without a display: an EGL context and a framebuffer.
#pragma once

#include <memory>

#include "app/files/png.h"
#include "app/window/canvas.h"

namespace attoscope::app {

/// A current OpenGL 3.3 core context that draws into memory: on the GPU that computes, else another GPU, else Mesa's software
/// renderer.
class Offscreen {
 public:
  /// `gpu`: CUDA's index of the preferred GPU; -1: any. Throws std::runtime_error with one sentence without OpenGL 3.3, or if
  /// the size exceeds its limits.
  Offscreen(int width, int height, int gpu = -1);
  ~Offscreen();
  Offscreen(Offscreen&&) = delete;

  int width() const { return width_; }
  int height() const { return height_; }
  /// The drawn picture.
  Picture read() const;

 private:
  class Context;

  int width_, height_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<Framebuffer> pixels_;  ///< destroyed before its context
};

}  // namespace attoscope::app
