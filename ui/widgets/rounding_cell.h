/// A cell of the matrix of roundings: a click turns rounding on or off, a popup chooses the format.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "imgui.h"
#include "kernels/arithmetic/format.h"
#include "kernels/arithmetic/precision.h"
#include "ui/widgets/theme.h"

namespace attoscope::ui {

/// Appearance of a cell.
struct CellLook {
  Rounding::Kind kind;
  std::string text;
  bool differs;       ///< differs from the preset
  bool idle = false;  ///< has no effect with the current settings
};
/// Filled: rounded to D; outlined: rounded to another format; grey: exact. A dot: differs from the preset.
void draw_cell(ImVec2 from, ImVec2 to, Colour colour, const CellLook& look);

/// A cell at the cursor's height.
struct RoundingCell {
  std::string_view name;  ///< test label; the popup is "NAME rounding"
  Colour colour;
  float left, width, height;
  std::string_view preset{};        ///< name of the nearest preset
  std::optional<Rounding> usual{};  ///< the preset's rounding of this step
  bool idle = false;
  std::string what{};  ///< first part of the tooltip
};
void edit_rounding(Rounding& rounding, const RoundingCell& cell, const Format& main, std::string& typed);

/// "exact", "bf16", "~fp16" (stochastic).
std::string rounding_text(const Rounding& rounding, const Format& main);

/// A row of `columns` boxes, one for each bit; boxes beyond the format's bits are outlined. `digits` are written into the boxes
/// if they fit; `hovered` is highlighted.
struct BitBoxes {
  int columns;
  std::string_view digits{};
  int hovered = -1;
  bool has_sign = true;
};
void draw_bit_boxes(const Format& format, const BitBoxes& boxes, ImVec2 at, ImVec2 size);

/// Index of the box under the mouse or with the keyboard's focus, in a row of `columns` boxes at `at` (the last item); -1: no
/// box.
int hovered_bit(int columns, ImVec2 at, ImVec2 size);

}  // namespace attoscope::ui
