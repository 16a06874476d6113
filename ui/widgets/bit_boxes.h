/// The bits of a number as a row of boxes: sign purple, exponent green, mantissa grey.
#pragma once

#include <string_view>

#include "imgui.h"
#include "kernels/arithmetic/format.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// Colour of bit `i` from the left; 0 is the sign.
Colour bit_colour(const Format& format, int i);

/// One box a bit in `size`, which has `columns` places; places beyond the format's bits are outlined. `digits` are written into
/// the boxes if they fit; `hovered` is highlighted.
struct BitBoxes {
  int columns;
  std::string_view digits{};
  int hovered = -1;
  bool has_sign = true;
};
void draw_bit_boxes(const Format& format, const BitBoxes& boxes, ImVec2 at, ImVec2 size);

/// Index of the box under the mouse in a row of `columns` boxes at `at`, the last item; -1: none.
int hovered_bit(int columns, ImVec2 at, ImVec2 size);

}  // namespace attoscope
