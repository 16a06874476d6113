#include "ui/sweep/sweep.h"

namespace attoscope {

void draw_sweep(Session&, const Frame&, UiMemory&, const Palette&, Wishes&) {}

}  // namespace attoscope
