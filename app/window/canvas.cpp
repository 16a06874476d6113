#include "app/window/canvas.h"

#include <epoxy/gl.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace attoscope::app {
namespace {

unsigned bound_framebuffer() {
  int name = 0;
  glGetIntegerv(GL_FRAMEBUFFER_BINDING, &name);
  return static_cast<unsigned>(name);
}

}  // namespace

Framebuffer::Framebuffer(int width, int height) {
  glGenRenderbuffers(1, &colour_);
  glBindRenderbuffer(GL_RENDERBUFFER, colour_);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, width, height);
  glGenFramebuffers(1, &name_);
  const unsigned earlier = bound_framebuffer();
  glBindFramebuffer(GL_FRAMEBUFFER, name_);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, colour_);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE) return;
  glBindFramebuffer(GL_FRAMEBUFFER, earlier);
  glDeleteFramebuffers(1, &name_);
  glDeleteRenderbuffers(1, &colour_);
  throw std::runtime_error("OpenGL gives no framebuffer of " + std::to_string(width) + "x" + std::to_string(height) +
                           " pixels.");
}

Framebuffer::~Framebuffer() {
  glDeleteFramebuffers(1, &name_);
  glDeleteRenderbuffers(1, &colour_);
}

int Framebuffer::largest_side() {
  int side = 0;
  glGetIntegerv(GL_MAX_RENDERBUFFER_SIZE, &side);
  return side;
}

Canvas::Canvas(int width, int height, int shown)
    : width_(width), height_(height), shown_(shown), earlier_(bound_framebuffer()), pixels_(width, height) {}

Canvas::~Canvas() {
  glBindFramebuffer(GL_READ_FRAMEBUFFER, pixels_.name());
  glBindFramebuffer(GL_DRAW_FRAMEBUFFER, earlier_);
  glDisable(GL_SCISSOR_TEST);
  glBlitFramebuffer(0, height_ - shown_, width_, height_, 0, 0, width_, shown_, GL_COLOR_BUFFER_BIT, GL_NEAREST);
  glBindFramebuffer(GL_FRAMEBUFFER, earlier_);
}

Picture read_back(int x, int y, int width, int height) {
  const std::size_t row = static_cast<std::size_t>(width) * 3;
  std::vector<std::uint8_t> upside_down(row * static_cast<std::size_t>(height));
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(x, y, width, height, GL_RGB, GL_UNSIGNED_BYTE, upside_down.data());
  Picture picture{width, height, std::vector<std::uint8_t>(upside_down.size())};
  for (int i = 0; i < height; ++i)
    std::memcpy(&picture.rgb[row * static_cast<std::size_t>(i)], &upside_down[row * static_cast<std::size_t>(height - 1 - i)],
                row);
  return picture;
}

}  // namespace attoscope::app
