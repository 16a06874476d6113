/// Parts of the window that differ in a page, or are missing: fonts of the system, drags before the drop, drawing without a
/// display.
#include <stdexcept>
#include <utility>

#include "app/window/drag_watch.h"
#include "app/window/fonts.h"
#include "app/window/offscreen.h"

namespace attoscope::app {

ui::FontFiles find_fonts() {
  return {.sans = "/fonts/Inter-Regular.otf",
          .sans_semibold = "/fonts/Inter-SemiBold.otf",
          .mono = "/fonts/JetBrainsMono-Regular.ttf",
          .math = "/fonts/DejaVuSans.ttf",
          .sans_italic = "/fonts/Inter-Italic.otf"};
}

FontFace find_font_with(const ui::MissingCharacters&) { return {}; }

std::string missing_fonts(const ui::FontFiles&) { return ""; }

DragWatch::DragWatch(std::function<void()> changed) : changed_(std::move(changed)) {}
DragWatch::~DragWatch() = default;

class Offscreen::Context {};

Offscreen::Offscreen(int width, int height, int) : width_(width), height_(height) {
  throw std::runtime_error("A page draws in its own window alone.");
}
Offscreen::~Offscreen() = default;
Picture Offscreen::read() const { return {}; }

}  // namespace attoscope::app
