/// Names of curves in a line, each with what it looks like; a click on one is to show or hide it.
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
  float dash = 0;  ///< of dashes, at UI scale 1: the mark is then so long that it tells them from others; 0: the usual ones
};
/// Names that do not fit beside each other are shortened. Which of them was clicked, or -1.
int draw_legend(ImVec2 at, float width, std::span<const LegendName> entries, const Palette& colours);

}  // namespace attoscope
