/// A cell of a matrix that says where a method rounds: a click turns rounding on or off, a popup chooses the format.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "imgui.h"
#include "kernels/arithmetic/precision.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// How a cell looks.
struct CellLook {
  Rounding::Kind kind;
  std::string text;
  bool differs;       ///< from the preset
  bool idle = false;  ///< changes nothing at present
};
/// A filled cell means rounded; an outline, to a format of its own; grey, exact. A dot: not as the preset has it.
void draw_cell(ImVec2 from, ImVec2 to, Colour colour, const Palette& colours, const CellLook& look);

/// A cell at the cursor's height.
struct RoundingCell {
  std::string_view name;  ///< its test label; its popup is "NAME rounding"
  Colour colour;
  float left, width, height;
  std::string_view preset{};        ///< the nearest one's name
  std::optional<Rounding> usual{};  ///< what that has here
  bool idle = false;
  std::string what{};  ///< begins the tooltip
};
bool edit_rounding(Rounding& rounding, const RoundingCell& cell, const Format& main, const Palette& colours,
                   std::string& typed);

/// "exact", "bf16", "~fp16" where it is stochastic.
std::string rounding_text(const Rounding& rounding, const Format& main);

}  // namespace attoscope
