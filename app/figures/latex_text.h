/// Texts of figures as LaTeX draws them.
#pragma once

#include <string>
#include <string_view>

#include "app/figures/figure.h"

namespace attoscope {

/// The text with every sign that means something to LaTeX escaped, and Greek letters and signs of mathematics as commands;
/// other letters stay UTF-8.
std::string latex_text(std::string_view text);

/// The figure with such texts.
Figure in_latex(Figure figure);

}  // namespace attoscope
