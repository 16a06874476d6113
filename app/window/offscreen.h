/// OpenGL without a display: an EGL context and a framebuffer of its own.
#pragma once

#include <memory>
#include <string>

#include "app/files/png.h"
#include "app/window/canvas.h"

namespace attoscope {

/// A current OpenGL 3.3 core context that draws into memory. Hardware is preferred, and of that the GPU which computes; Mesa's
/// software serves elsewhere.
class Offscreen {
 public:
  /// `gpu`: CUDA's index of the GPU that had best draw; -1: any. Throws std::runtime_error in one sentence if there is no
  /// OpenGL 3.3 or the size is beyond it.
  Offscreen(int width, int height, int gpu = -1);
  ~Offscreen();
  Offscreen(const Offscreen&) = delete;
  Offscreen& operator=(const Offscreen&) = delete;

  int width() const { return width_; }
  int height() const { return height_; }
  /// "llvmpipe (LLVM 15.0.6, 256 bits)"
  std::string renderer() const;
  /// What was drawn.
  Picture read() const;

 private:
  class Context;

  int width_, height_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<Framebuffer> pixels_;  ///< goes before its context
};

}  // namespace attoscope
