/// Figures through gnuplot: the script, and the picture that it draws.
#pragma once

#include <string>
#include <vector>

#include "app/figures/figure.h"
#include "kernels/compute.h"

namespace attoscope::app {

/// tikz: a picture that LaTeX draws with the document's own fonts.
enum class PictureFormat : std::uint8_t { pdf, svg, png, tikz };
/// The format of the name's ending. Throws std::invalid_argument in a sentence.
PictureFormat picture_format(const std::string& file);
/// ".pdf"
std::string picture_ending(PictureFormat format);

/// gnuplot's files that a document needs to draw TikZ pictures: \usepackage{gnuplot-lua-tikz}.
std::vector<std::string> style_files(PictureFormat format);

/// A script that draws the figure into `stem`.pdf, .svg, .png or .tex in the current directory; the data are in it. Every text
/// is literal: no character of a label means anything to gnuplot. `stem` holds letters, digits, - and _ only.
std::string gnuplot_script(const Figure& figure, PictureFormat format, const std::string& stem);

/// The bytes of these files, which the script makes. Throws std::runtime_error in a sentence: one that names the package where
/// there is no gnuplot; and Stopped, once gnuplot has ended, where that is cancelled.
std::vector<std::string> drawn(const std::string& script, const std::vector<std::string>& files,
                               const Cancelled& cancelled = {});

}  // namespace attoscope::app
