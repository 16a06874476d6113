/// OpenGL framebuffers in memory, and reading of pixels.
#pragma once

#include "app/files/png.h"

namespace attoscope::app {

/// A framebuffer, bound on construction. Throws std::runtime_error with one sentence if OpenGL cannot create one of this size.
class Framebuffer {
 public:
  Framebuffer(int width, int height);
  ~Framebuffer();
  Framebuffer(Framebuffer&&) = delete;

  unsigned name() const { return name_; }
  /// Limit of width and height, in pixels.
  static int largest_side();

 private:
  unsigned name_ = 0, colour_ = 0;
};

/// Replaces the bound framebuffer for a taller frame.
class Canvas {
 public:
  /// `shown`: rows of `height` that the bound framebuffer has.
  Canvas(int width, int height, int shown);
  /// Binds the earlier framebuffer again and copies the upper rows to it.
  ~Canvas();
  Canvas(Canvas&&) = delete;

 private:
  int width_, height_, shown_;
  unsigned earlier_;
  Framebuffer pixels_;
};

/// Pixels of the bound framebuffer from (x, y), counted from the lower left.
Picture read_back(int x, int y, int width, int height);

}  // namespace attoscope::app
