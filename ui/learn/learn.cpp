#include "ui/learn/learn.h"

namespace attoscope {

void draw_learn(Session&, const Frame&, UiMemory&, const Palette&, Wishes&) {}

}  // namespace attoscope
