/// The bits of a number as a row of boxes: sign purple, exponent green, mantissa grey.
#pragma once

#include <string_view>

#include "imgui.h"
#include "kernels/arithmetic/format.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// The colour of bit `i` from the left, 0 being the sign.
Colour bit_colour(const Format& format, int i, const Palette& colours);

/// One box a bit over `size`, which has `columns` places: those beyond the format's bits are outlined. `digits` are written
/// into the boxes where they fit; `hovered` is lit.
struct BitBoxes {
  int columns;
  std::string_view digits{};
  int hovered = -1;
  bool has_sign = true;
};
void draw_bit_boxes(const Format& format, const BitBoxes& boxes, ImVec2 at, ImVec2 size, const Palette& colours);

/// The place of the mouse over the last item, a row of `columns` boxes from `at` on; -1: it is elsewhere.
int hovered_bit(int columns, ImVec2 at, ImVec2 size);

}  // namespace attoscope
