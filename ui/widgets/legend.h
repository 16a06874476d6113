/// Names of curves in a line, each with its mark; a click toggles the curve.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "imgui.h"
#include "ui/widgets/theme.h"

namespace attoscope {

enum class CurveMark : std::uint8_t { line, dashes, dot, ring, diamond, band, bar };

struct LegendName {
  CurveMark mark = CurveMark::line;
  std::string id;  ///< its test label is "legend id"
  std::string name;
  Colour colour = 0;
  std::string what, formula;  ///< tooltip
  bool hidden = false;
  float dash = 0;  ///< length of dashes at UI scale 1, with a mark long enough to show it; 0: the usual length
};
/// Draws a line of names, shortened if they do not fit. Returns the index of the clicked one, or -1.
int draw_legend(ImVec2 at, float width, std::span<const LegendName> entries);

}  // namespace attoscope
