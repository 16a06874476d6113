/// Pixels in memory that OpenGL draws into, and pixels read back.
#pragma once

#include "app/files/png.h"

namespace attoscope {

/// Is bound when made. Throws std::runtime_error in one sentence if OpenGL gives none of this size.
class Framebuffer {
 public:
  Framebuffer(int width, int height);
  ~Framebuffer();
  Framebuffer(const Framebuffer&) = delete;
  Framebuffer& operator=(const Framebuffer&) = delete;

  unsigned name() const { return name_; }
  /// Pixels that a side may have.
  static int largest_side();

 private:
  unsigned name_ = 0, colour_ = 0;
};

/// Stands in for the framebuffer that is bound, for a frame that is taller.
class Canvas {
 public:
  /// Of its `height`, as many rows as are `shown` lie in the earlier one.
  Canvas(int width, int height, int shown);
  /// Binds the earlier one again, and leaves there the upper rows.
  ~Canvas();
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

 private:
  int width_, height_, shown_;
  unsigned earlier_;
  Framebuffer pixels_;
};

/// The pixels of the bound framebuffer from (x, y), which counts from the lower left.
Picture read_back(int x, int y, int width, int height);

}  // namespace attoscope
