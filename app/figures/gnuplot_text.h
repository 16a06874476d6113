/// Texts of gnuplot and LaTeX scripts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/figures/figure.h"

namespace attoscope::app {

/// Escapes a text: every character special to gnuplot becomes an octal escape, which gnuplot replaces last. So does every
/// digit: gnuplot would read it as part of a preceding escape. Control characters become spaces.
std::string gnuplot_literal(std::string_view text);

/// The shortest text of every bit of a number; NaN and infinity become gaps.
std::string gnuplot_number(double x);

/// '#c2301c'
std::string gnuplot_colour(std::uint32_t rgb);

/// Colour, mark and dash pattern of an ink in print. a (dark), b (light) and the six other series differ also in black and
/// white.
struct PrintLook {
  std::uint32_t colour;  ///< 0xRRGGBB: a, b, the light theme's roles; then six of different lightness, distinct for any colour
                         ///< vision
  int mark;              ///< gnuplot's number
  const char* dash;      ///< gnuplot's pattern, used if no curve of the panel is dashed
};
/// `round`: further series with one of the six inks have other marks and dashes.
PrintLook print_look(ui::Ink ink, int round = 0);

/// A heat map's colours as the block `name` of packed 0xRRGGBB, row by row from the top.
std::string heat_block(const std::string& name, const ui::FigureHeat& heat);
/// Ranges, colour bar and its ticks; `label`: the bar's label as gnuplot reads it.
std::string heat_settings(const ui::FigureHeat& heat, const std::string& label);
/// The arguments of `plot` for the block `name`: the colour bar, and a name for each marker that occurs.
std::string heat_plot(const std::string& name, const ui::FigureHeat& heat);
/// True if the legend names a marker, or masked cells.
bool has_markers(const ui::FigureHeat& heat);

/// Escapes LaTeX's special characters, and writes Greek letters and mathematical signs as commands; other letters stay UTF-8.
std::string latex_text(std::string_view text);

/// Applies `latex_text` to all texts of the figure.
Figure in_latex(Figure figure);

}  // namespace attoscope::app
