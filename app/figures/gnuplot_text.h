/// The words of gnuplot scripts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/figures/figure.h"

namespace attoscope::app {

/// A literal text: every sign that could mean something is an octal escape, which gnuplot reads after everything else; so is
/// every digit, which would be taken for a part of the escape before it. Control characters become spaces.
std::string gnuplot_literal(std::string_view text);

/// A number; NaN and infinity are gaps.
std::string gnuplot_number(double x);

/// '#c2301c'
std::string gnuplot_colour(std::uint32_t rgb);

/// The colour, mark and dashes of an ink in print. The looks of a and b, a dark and a light one, and the six of other series,
/// stay apart in black and white.
struct PrintLook {
  std::uint32_t colour;  ///< 0xRRGGBB: a, b, the light theme's roles; then six of different lightness for any colour vision
  int mark;              ///< gnuplot's number
  const char* dash;      ///< gnuplot's pattern, where no curve beside it is dashed
};
PrintLook print_look(ui::Ink ink);

/// A heat map's colours as the block `name` of packed 0xRRGGBB, row by row from the top.
std::string heat_block(const std::string& name, const ui::FigureHeat& heat);
/// Ranges, colour bar and its ticks.
std::string heat_settings(const ui::FigureHeat& heat);
/// The arguments of `plot` for the block `name`: the colour bar, and a name for each marker that occurs.
std::string heat_plot(const std::string& name, const ui::FigureHeat& heat);
/// True where a marker is named above the picture.
bool has_markers(const ui::FigureHeat& heat);

/// The text with every sign that means something to LaTeX escaped, and Greek letters and signs of mathematics as commands;
/// other letters stay UTF-8.
std::string latex_text(std::string_view text);

/// The figure with such texts.
Figure in_latex(Figure figure);

}  // namespace attoscope::app
