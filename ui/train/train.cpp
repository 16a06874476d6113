#include "ui/train/train.h"

namespace attoscope {

void draw_train(Session&, const Frame&, UiMemory&, const Palette&, Wishes&) {}

}  // namespace attoscope
